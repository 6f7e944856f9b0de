"""What is printed reaches a pipe as a whole, also where a signal interrupts the write and nothing is buffered."""

import os
import signal
import subprocess
import sys

import pytest

SIZE = 1_000_000
# Longer than a pipe holds; the reader signals in the middle of it.
PROGRAM = f"""
import signal, sys
from falkirk.cli.console.whole_writes import write_whole
write_whole()
signal.signal(signal.SIGUSR1, lambda *_: None)
print("x", file=sys.stderr, flush=True)
print("y" * {SIZE}, flush=True)
"""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_write_that_a_signal_interrupts_goes_on(unbuffered):
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as child:
        child.stderr.readline()
        # Its first byte is in the pipe: the write has begun, and waits for us.
        first = os.read(child.stdout.fileno(), 1)
        child.send_signal(signal.SIGUSR1)
        rest = child.stdout.read()
    assert (len(first + rest), child.returncode) == (SIZE + 1, 0)
