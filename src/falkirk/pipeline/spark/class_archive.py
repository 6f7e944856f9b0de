"""Spark's classes in a file that a JVM maps in the place of loading them (class data sharing).

A new JVM loads some ten thousand classes before its first query, which takes as long as a small ingest. A JVM that
finds other jars or another Java than the file was made with loads them as ever, without a word.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from falkirk.pipeline.errors import SparkUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

# What it says of a file that does not fit, or of classes that it cannot keep, is no news for an operator.
_QUIET: Final = "-Xshare:auto -Xlog:disable -Xlog:all=error:stderr"
_EXIT_SECONDS: Final = 120


def archive_file(java_version: str) -> Path | None:
    """Return the file with the classes that were kept for a version of Java; None if there is none."""
    # A JVM trusts the length of the file that it maps.
    for file in _folder().glob(f"{_stem(java_version)}-*.jsa"):
        if file.stem.rpartition("-")[2] == str(file.stat().st_size):
            return file
    return None


def reading_options(java_version: str) -> str:
    """Return the options of a JVM that finds classes where they were kept; none if they were not."""
    file = archive_file(java_version)
    return "" if file is None else f"-XX:SharedArchiveFile={shlex.quote(str(file))} {_QUIET}"


def keep_classes(java_version: str, start: Callable[[str], SparkSession], work: Callable[[SparkSession], None]) -> Path:
    """Start Spark, run `work`, and keep all classes that were loaded; `start` takes options of the JVM.

    Returns the file. Raises SparkUnavailableError if another session runs in this process, or the JVM writes no file,
    and OSError.
    """
    from pyspark import SparkContext  # noqa: PLC0415 - `start_session` says so if it is missing

    if SparkContext._gateway is not None:  # noqa: SLF001 - nothing public says so
        raise SparkUnavailableError("another session of Spark runs in this process")
    folder, stem = _folder(), _stem(java_version)
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"{stem}.{os.getpid()}"
    try:
        session = start(f"-XX:ArchiveClassesAtExit={shlex.quote(str(made))} {_QUIET}")
        try:
            work(session)
        finally:
            session.stop()
            _end_java()
        if not made.is_file():
            raise SparkUnavailableError(f"{made}: Java wrote no such file")
        file = made.replace(folder / f"{stem}-{made.stat().st_size}.jsa")
    finally:
        made.unlink(missing_ok=True)
    for older in folder.glob(f"{stem}-*.jsa"):
        if older != file:
            older.unlink(missing_ok=True)
    return file


def _folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "falkirk"


def _stem(java_version: str) -> str:
    return f"spark-{version('pyspark')}-java-{java_version}"


def _end_java() -> None:
    """End Spark's JVM, and wait until it has written what it writes at its end."""
    from pyspark import SparkContext  # noqa: PLC0415 - `start_session` says so if it is missing

    gateway = SparkContext._gateway  # noqa: SLF001 - nothing public ends it
    assert gateway is not None
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - same
    gateway.shutdown()
    process: subprocess.Popen[bytes] = gateway.proc
    assert process.stdin is not None, "it is a pipe, at whose end the JVM ends"
    process.stdin.close()
    try:
        process.wait(_EXIT_SECONDS)
    except subprocess.TimeoutExpired as stuck:
        process.kill()
        raise SparkUnavailableError(f"Java did not end within {_EXIT_SECONDS} s") from stuck
