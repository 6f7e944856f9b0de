"""The Spark session of a command or a test."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final
from urllib.parse import urlsplit

from falkirk.pipeline.errors import SparkFailedError, SparkUnavailableError
from falkirk.pipeline.spark.class_archive import reading_options
from falkirk.pipeline.spark.spark_log import keep_log, one_sentence, open_log

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

JAVA_MIN: Final = 17
# Times are UTC everywhere. Arrow both ways; no progress bar between our own lines.
_DEFAULTS: Final = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.ui.showConsoleProgress": "false",
}
# In one process nothing else has to reach it.
_LOCAL: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
}
PLANNED_ONCE: Final = {"spark.sql.adaptive.enabled": "false", "spark.sql.codegen.wholeStage": "false"}
"""Settings with which Spark neither plans a query again between its stages nor compiles it.

Where few rows go through, both cost more than they save: a new JVM nearly half of its time for a small ingest.
"""
# A report of 1,000 clusters takes half as much of the JVM's time with it, the first in a session and later ones.
_QUICKLY: Final = "-XX:TieredStopAtLevel=1"
_SUBMIT_OPTIONS: Final = "SPARK_SUBMIT_OPTS"
_LOG_SETTINGS: Final = "log4j2.properties"
_CONNECT: Final = "sc://"
_CONNECT_PORT: Final = 15002
_CONNECT_SECONDS: Final = 10
# Settings of a session; the others are the server's own.
_OF_SESSION: Final = "spark.sql."


@contextmanager
def spark_session(
    *,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    name: str = "falkirk",
    few_rows: bool = True,
) -> Iterator[SparkSession]:
    """Start Spark for a command, whose screen its log stays away from; `few_rows` as in `start_session`.

    Raises what `start_session` raises, and SparkFailedError in place of Spark's own errors: one sentence, and the file
    with the rest.
    """
    with open_log() as log:
        session = start_session(master=master, settings=settings, name=name, log=log, few_rows=few_rows)
        from py4j.protocol import Py4JError  # noqa: PLC0415 - there was no sentence yet if it is missing
        from pyspark.errors import PySparkException  # noqa: PLC0415 - same

        try:
            yield session
        except (PySparkException, Py4JError) as error:
            raise SparkFailedError(f"Spark: {one_sentence(error)} (all of it is in {keep_log(log, error)})") from error


def start_session(
    *,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    name: str = "falkirk",
    log: IO[bytes] | None = None,
    few_rows: bool = False,
    java_options: str | None = None,
) -> SparkSession:
    """Start Spark, or join the active session; `sc://` as `master` is a server of Spark Connect.

    Without a `master` it runs in this process on all cores, unless Spark's own configuration names another. `log`
    takes what Spark's JVM writes to stderr. With `few_rows` a JVM that starts here compiles quickly rather than well:
    workers do what is much. `java_options` take the place of those by which it finds the classes that
    `class_archive.keep_classes` kept. Raises SparkUnavailableError if there is no Java 17 or newer, PySpark is not
    installed, or the server does not answer.
    """
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - if it is missing, one sentence says so
    except ModuleNotFoundError as error:
        missing = (error.name or "pyspark").partition(".")[0]
        raise SparkUnavailableError(
            f"{missing} is not installed: the fleet commands need the extra `spark` (pip install 'falkirk[spark]')"
        ) from error
    master = os.environ.get("SPARK_REMOTE") if master is None else master
    if master is not None and master.startswith(_CONNECT):
        return _connect(master, settings or {})
    is_new = SparkSession.getActiveSession() is None
    if is_new:
        found = check_java()
        java_options = reading_options(found) if java_options is None else java_options
    # Workers would otherwise run the first python3 on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # Spark's own log lines do not help an operator.
    options = f"-Dlog4j2.configurationFile={Path(__file__).with_name(_LOG_SETTINGS)}"
    options = " ".join([options, *([_QUICKLY] if few_rows else []), java_options or ""])
    local = _LOCAL if (master or "local").startswith("local") else {}
    wanted = {**_DEFAULTS, **local, **(settings or {}), "spark.app.name": name}
    if master is not None:
        wanted["spark.master"] = master
    builder = SparkSession.builder
    for key, value in wanted.items():
        builder = builder.config(key, value)
    with _submit_options(options):
        if is_new and log is not None:
            _start_java(wanted, log)
        session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def is_remote(spark: SparkSession) -> bool:
    """Return whether a session is one of Spark Connect, which has no context and no RDDs."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


@contextmanager
def with_settings(spark: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    """Have a session other settings for a while. All have defaults in Spark."""
    before = {name: spark.conf.get(name) or "" for name in wanted}
    try:
        for name, value in wanted.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@contextmanager
def _submit_options(options: str) -> Iterator[None]:
    """Have a JVM that starts now these options, and behind them those of the user, which win."""
    own = os.environ.get(_SUBMIT_OPTIONS)
    os.environ[_SUBMIT_OPTIONS] = f"{options} {own or ''}".strip()
    try:
        yield
    finally:
        del os.environ[_SUBMIT_OPTIONS]
        if own is not None:
            os.environ[_SUBMIT_OPTIONS] = own


def _start_java(settings: Mapping[str, str], log: IO[bytes]) -> None:
    """Start Spark's JVM, which warns of its modules on stderr, and have it write into the log."""
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - `start_session` says so if it is missing
    from pyspark.errors import PySparkException  # noqa: PLC0415 - same
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415 - same

    conf = SparkConf().setAll(list(settings.items()))
    try:
        gateway = launch_gateway(conf, {"stderr": log})  # type: ignore[no-untyped-call]
        SparkContext(conf=conf, gateway=gateway)
    except PySparkException as error:
        raise SparkUnavailableError(f"Spark does not start; what it says is in {keep_log(log, error)}") from error


def _connect(url: str, settings: Mapping[str, str]) -> SparkSession:
    from pyspark.errors import PySparkException  # noqa: PLC0415 - `start_session` says so if it is missing
    from pyspark.sql import SparkSession  # noqa: PLC0415 - same

    server = urlsplit(url)
    try:
        # Its own client asks again for ten minutes.
        address = server.hostname or "", server.port or _CONNECT_PORT
        socket.create_connection(address, timeout=_CONNECT_SECONDS).close()
        session: SparkSession = SparkSession.builder.remote(url).getOrCreate()
        for key, value in _DEFAULTS.items():
            if key.startswith(_OF_SESSION):
                session.conf.set(key, value)
        for key, value in settings.items():
            session.conf.set(key, value)
    except ImportError as missing:
        raise SparkUnavailableError(
            f"{url}: {missing} (Spark Connect needs the extra `spark-connect`: pip install 'falkirk[spark-connect]')"
        ) from missing
    except (OSError, ValueError) as unreachable:
        raise SparkUnavailableError(f"{url}: no Spark Connect server answers: {unreachable}") from unreachable
    except PySparkException as refused:
        raise SparkUnavailableError(f"{url}: {one_sentence(refused)}") from refused
    return session


def check_java() -> str:
    """Return the version of the Java that Spark runs on, `17.0.15`. Raises SparkUnavailableError."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        where = f"JAVA_HOME is {home}, and has no bin/java" if home else "no java on the path, and no JAVA_HOME"
        raise SparkUnavailableError(f"Spark needs Java {JAVA_MIN} or newer: {where}")
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 - found above
    found = re.search(r'version "(?:1\.)?((\d+)[\w.+-]*)', answer.stderr)
    if answer.returncode != 0 or found is None:
        raise SparkUnavailableError(f"Spark needs Java {JAVA_MIN} or newer: {java} does not say which it is")
    if int(found[2]) < JAVA_MIN:
        raise SparkUnavailableError(f"Spark needs Java {JAVA_MIN} or newer: {java} is Java {found[2]}")
    return found[1]
