"""Runs a process to its end and measures it."""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class ProcessRun:
    """Wall time from start to exit, and processor time of the process with all its threads."""

    stdout: str
    seconds: float
    cpu_seconds: float


def run_process(command: list[str]) -> ProcessRun:
    """Run a command; raises CalledProcessError if it fails. Its stderr is passed on."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        stdout = process.stdout.read()
        # wait4 says what this one child took; rusage of all children would mix them up.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command, stdout)
    return ProcessRun(stdout, seconds, usage.ru_utime + usage.ru_stime)


def cpu_seconds(pid: int) -> float:
    """Return the user and system time of a process, of all its threads."""
    fields = Path("/proc", str(pid), "stat").read_text(encoding="latin-1").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND
