"""Runs falkirk's commands and kills them in the middle of what they do to the files of a directory."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager

# Events of Python's own file operations say how far the work is; the delay reaches what libraries do in between.
_CODE = """
import os, signal, sys, threading

def run(words, folder, left, delay):
    seen = 0
    def hook(event, arguments):
        nonlocal seen
        if event not in ("open", "os.rename", "os.mkdir", "os.remove"):
            return
        if not str(arguments[0]).startswith(folder):
            return
        seen += 1
        if seen == left:
            threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()
    sys.addaudithook(hook)
    from falkirk.cli import main
    try:
        main(words)
    finally:
        print(seen, file=sys.stderr)
"""
_ONE = _CODE + "run(**{arguments!r})\n"
# Imports once, and forks for each command. The work of Spark's workers is done by the command itself, so that kills
# meet it, too.
_WITHOUT_SPARK = (
    _CODE
    + """
import contextlib, json
from falkirk.cli.fleet import commands
from falkirk.pipeline.ingest import run as ingest, stream
from falkirk.pipeline.spark import session
from falkirk.pipeline.warehouse import vacuum
ingest.run_tasks = lambda spark, function, items, weights, **_: [function(item) for item in items]
session.spark_session = lambda **_: contextlib.nullcontext()
for line in sys.stdin:
    work = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(work["cwd"])
        for number in (1, 2):
            os.dup2(os.open(work["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
        try:
            run(**work["arguments"])
            os._exit(0)
        except SystemExit as ended:
            os._exit(ended.code or 0)
        finally:
            os._exit(70)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
)


def run_killed(cwd, folder, words, *, event=0, delay=0.0):
    """Run a command, and kill it `delay` seconds after the event of this number on a file in `folder`; 0: never.

    Returns (exit status, number of events); the number is None if it was killed.
    """
    code = _ONE.format(arguments=_arguments(folder, words, event, delay))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False, env=os.environ
    )
    return _ended(done.returncode, done.stderr)


@contextmanager
def killed_without_spark(tmp_path):
    """Yield a function like `run_killed`, whose commands start neither Python nor Spark."""
    output = tmp_path / "killed-output"
    with subprocess.Popen(
        [sys.executable, "-c", _WITHOUT_SPARK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:

        def run(cwd, folder, words, *, event=0, delay=0.0):
            output.write_text("")
            work = {"cwd": str(cwd), "output": str(output), "arguments": _arguments(folder, words, event, delay)}
            server.stdin.write(json.dumps(work) + "\n")
            server.stdin.flush()
            return _ended(int(server.stdout.readline()), output.read_text())

        yield run
        server.stdin.close()


def _arguments(folder, words, event, delay):
    return {"words": [str(word) for word in words], "folder": str(folder), "left": event, "delay": delay}


def _ended(status, errors):
    if status < 0:
        return status, None
    assert status == 0, errors
    return 0, int(errors.split()[-1])
