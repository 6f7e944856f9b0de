"""The Spark session of a command or a test."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from falkirk.pipeline.errors import SparkUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

JAVA_MIN: Final = 17
# Times are UTC everywhere. Arrow both ways; no progress bar between our own lines. The driver lists a few thousand
# files faster than a Spark job does.
_DEFAULTS: Final = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    "spark.ui.showConsoleProgress": "false",
}
# In one process nothing else has to reach it.
_LOCAL: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
}
_LOG_SETTINGS: Final = "log4j2.properties"


def start_session(
    *, master: str | None = None, settings: Mapping[str, str] | None = None, name: str = "falkirk"
) -> SparkSession:
    """Start Spark, or join the active session.

    Without a `master` it runs in this process on all cores, unless Spark's own configuration names another. Raises
    SparkUnavailableError if there is no Java 17 or newer, or PySpark is not installed.
    """
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - if it is missing, one sentence says so
    except ModuleNotFoundError as error:
        missing = (error.name or "pyspark").partition(".")[0]
        raise SparkUnavailableError(
            f"{missing} is not installed: the fleet commands need the extra `spark` (pip install 'falkirk[spark]')"
        ) from error
    if SparkSession.getActiveSession() is None:
        check_java()
    # Workers would otherwise run the first python3 on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # Spark's own log lines do not help an operator.
    os.environ.setdefault("SPARK_SUBMIT_OPTS", f"-Dlog4j2.configurationFile={Path(__file__).with_name(_LOG_SETTINGS)}")
    builder = SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
    local = _LOCAL if (master or "local").startswith("local") else {}
    for key, value in {**_DEFAULTS, **local, **(settings or {})}.items():
        builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def check_java() -> None:
    """Check that a Java that Spark runs on is installed. Raises SparkUnavailableError."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        where = f"JAVA_HOME is {home}, and has no bin/java" if home else "no java on the path, and no JAVA_HOME"
        raise SparkUnavailableError(f"Spark needs Java {JAVA_MIN} or newer: {where}")
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 - found above
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    if answer.returncode != 0 or found is None:
        raise SparkUnavailableError(f"Spark needs Java {JAVA_MIN} or newer: {java} does not say which it is")
    if int(found[1]) < JAVA_MIN:
        raise SparkUnavailableError(f"Spark needs Java {JAVA_MIN} or newer: {java} is Java {found[1]}")
