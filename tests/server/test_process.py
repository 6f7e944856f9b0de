import subprocess
import sys

import pytest

# Four blocks of a megabyte at a time, as four answers on their way are.
PROGRAM = """
import resource
from falkirk.server.process import keep_freed_memory

{call}
def use():
    blocks = [b"x" * (1 << 20) for _ in range(4)]
    blocks.clear()

use()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    use()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
PAGES = 50 * 4 * 256


def faults(call: str) -> int:
    """How many pages the program had to ask the system for."""
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(call=call)], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.slow
def test_freed_memory_is_used_again_without_asking_the_system():
    assert faults("keep_freed_memory()") < PAGES / 10 < faults("")
