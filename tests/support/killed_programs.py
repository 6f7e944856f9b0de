"""Runs falkirk's commands and kills them in the middle of what they do to the files of a directory."""

import os
import subprocess
import sys

# Events of Python's own file operations say how far the work is; the delay reaches what libraries do in between.
_CODE = """
import os, signal, sys, threading
left, delay, folder = {left}, {delay}, {folder!r}
seen = 0
def hook(event, arguments):
    global seen
    if event not in ("open", "os.rename", "os.mkdir", "os.remove"):
        return
    if not str(arguments[0]).startswith(folder):
        return
    seen += 1
    if seen == left:
        threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()
sys.addaudithook(hook)
{before}
from falkirk.cli import main
try:
    main({words!r})
finally:
    print(seen, file=sys.stderr)
"""

# The work of Spark's workers is done by the program itself, so that kills meet it, too.
_WITHOUT_SPARK = """
import contextlib
from falkirk.pipeline.ingest import run
from falkirk.pipeline.spark import session
run.run_tasks = lambda spark, function, items, weights, **_: [function(item) for item in items]
session.spark_session = lambda **_: contextlib.nullcontext()
"""


def run_killed(cwd, folder, words, *, event=0, delay=0.0, with_spark=True):
    """Run a command, and kill it `delay` seconds after the event of this number on a file in `folder`; 0: never.

    Returns (exit status, number of events); the number is None if it was killed.
    """
    before = "" if with_spark else _WITHOUT_SPARK
    words = [str(word) for word in words]
    code = _CODE.format(left=event, delay=delay, folder=str(folder), before=before, words=words)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False, env=os.environ
    )
    if done.returncode < 0:
        return done.returncode, None
    assert done.returncode == 0, done.stderr
    return 0, int(done.stderr.split()[-1])
