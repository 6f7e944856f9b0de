"""One Spark session for all tests of a process; without Java they fail with the sentence that says so."""

from functools import partial

import pytest
from falkirk_command import run_falkirk

from falkirk.pipeline.spark.session import start_session

SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    settings = SETTINGS | {"spark.sql.warehouse.dir": str(folder), "spark.local.dir": str(folder)}
    session = start_session(master="local[2]", settings=settings, name="falkirk tests")
    yield session
    session.stop()


@pytest.fixture
def falkirk(capsys, monkeypatch, tmp_path):
    """Run a command in this process and in a folder of its own; Spark's session is that of the tests."""
    monkeypatch.chdir(tmp_path)
    return partial(run_falkirk, capsys)
