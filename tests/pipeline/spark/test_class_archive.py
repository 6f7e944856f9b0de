"""Spark's classes that a machine keeps for later starts."""

import json
import os
import subprocess
import sys
from importlib.metadata import version

import pytest

from falkirk.pipeline.spark.class_archive import reading_options

# Prints whether Spark's JVM has the file mapped, and what a query answers.
STARTED = """
import json, os, sys
from pathlib import Path
from falkirk.pipeline.spark.session import start_session
spark = start_session(master="local[1]", few_rows=True)
java = spark._jvm.java.lang.ProcessHandle.current().pid()
is_mapped = sys.argv[1] in Path(f"/proc/{java}/maps").read_text()
own = spark._jvm.java.lang.System.getProperty("falkirk.test"), os.environ["SPARK_SUBMIT_OPTS"]
print(json.dumps([is_mapped, spark.range(5).count(), *own]))
spark.stop()
"""
OWN = ("yes", "-Dfalkirk.test=yes")


def run(cache, *arguments):
    command = [sys.executable, *map(str, arguments)]
    # Options of the user stay, beside falkirk's.
    own = {"XDG_CACHE_HOME": str(cache), "SPARK_SUBMIT_OPTS": "-Dfalkirk.test=yes"}
    return subprocess.run(command, env=os.environ | own, capture_output=True, text=True, check=True)


@pytest.mark.spark
def test_what_is_prepared_is_mapped_and_what_does_not_fit_is_no_hindrance(tmp_path):
    cache = tmp_path / "a cache"
    told = json.loads(run(cache, "-m", "falkirk", "fleet", "prepare", "--json").stdout)
    [file] = (cache / "falkirk").iterdir()
    assert told == {"file": str(file), "bytes": file.stat().st_size}
    assert file.stat().st_size > 50_000_000
    assert json.loads(run(cache, "-c", STARTED, file).stdout) == [True, 5, *OWN]
    size = file.stat().st_size
    file.chmod(0o644)
    file.write_bytes(bytes(size))
    found = run(cache, "-c", STARTED, file)
    assert json.loads(found.stdout) == [False, 5, *OWN]
    assert "archive" not in found.stderr


def test_only_a_whole_file_of_this_java_is_an_option(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert reading_options("17.0.15") == ""
    stem = f"spark-{version('pyspark')}-java-17.0.15"
    (tmp_path / "falkirk").mkdir()
    for name in (f"{stem}-6.jsa", f"{stem}.123", f"spark-{version('pyspark')}-java-17.0.14-5.jsa"):
        (tmp_path / "falkirk" / name).write_bytes(b"whole")
    assert reading_options("17.0.15") == ""
    file = tmp_path / "falkirk" / f"{stem}-5.jsa"
    file.write_bytes(b"whole")
    assert reading_options("17.0.15").startswith(f"-XX:SharedArchiveFile={file} ")
