"""Of Spark's errors the user reads one sentence; the rest is in a file."""

import os
import tempfile
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from falkirk.pipeline.errors import SparkFailedError
from falkirk.pipeline.spark import session
from falkirk.pipeline.spark.spark_log import one_sentence

OF_WORKER = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "worker.py", line 2000, in main
    process()
    ^^^^^^^^^
KeyError: 'no such column'

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:600)
"""
OF_JVM = """An error occurred while calling o65.collectAsArrowToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Total size of serialized results is too big
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2000)
Caused by: java.io.IOException: No space left on device
"""
SENTENCES = {
    OF_WORKER: "KeyError: 'no such column'",
    OF_JVM: "Job aborted due to stage failure: Total size of serialized results is too big",
    "[PATH_NOT_FOUND] Path does not exist: file:/w. SQLSTATE: 42K03\nplan": (
        "[PATH_NOT_FOUND] Path does not exist: file:/w. SQLSTATE: 42K03"
    ),
}


@pytest.mark.parametrize(("text", "sentence"), SENTENCES.items())
def test_an_error_is_one_sentence(text, sentence):
    assert one_sentence(PySparkException(text)) == sentence


def test_a_failed_job_names_the_file_with_the_rest(tmp_path, monkeypatch):
    def start_session(*, log, **_):
        os.write(log.fileno(), b"WARNING: what the JVM wrote\n")

    monkeypatch.setattr(session, "start_session", start_session)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(SparkFailedError) as raised, session.spark_session():
        raise PySparkException(OF_WORKER)
    [kept] = tmp_path.iterdir()
    assert str(raised.value) == f"Spark: KeyError: 'no such column' (all of it is in {kept})"
    assert Path(kept).read_text() == f"WARNING: what the JVM wrote\n{OF_WORKER}\n"


def test_a_job_that_ends_well_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "start_session", lambda **_: None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with session.spark_session():
        pass
    assert list(tmp_path.iterdir()) == []
