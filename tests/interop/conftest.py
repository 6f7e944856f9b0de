"""Fixtures for tests against real Kafka, and the limit of two processes with running clusters."""

import fcntl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from kafka_cluster import Clusters, KafkaCluster

from fetch_kafka import cache_dir, required_program

TOOLS_API = Path(__file__).parent / "java" / "tools-api"
# As many processes may have clusters at the same time, of this clone or of others with the same cache.
PROCESSES_MAX = 2
_WAIT_S = 1800


class Turn:
    """This process's permission to run clusters: acquired by the first fixture that needs it, released by the last.

    Held by process, not by cluster: two tests that each need a second cluster could otherwise deadlock.
    """

    def __init__(self) -> None:
        self._users = 0
        self._lock: IO[str] | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        if self._users == 0:
            self._lock = self._wait()
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if self._users == 0 and self._lock is not None:
                self._lock.close()

    def _wait(self) -> IO[str]:
        folder = cache_dir() / "kafka" / "turns"
        folder.mkdir(parents=True, exist_ok=True)
        deadline = time.monotonic() + _WAIT_S
        while time.monotonic() < deadline:
            for number in range(PROCESSES_MAX):
                lock = (folder / f"{number}.lock").open("w")
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    lock.close()
                else:
                    return lock
            time.sleep(0.2)
        raise TimeoutError(f"other processes ran Kafka clusters for {_WAIT_S} s")


TURN = Turn()


@pytest.fixture
def kafka_turn() -> Iterator[None]:
    """The permission alone, for a test that runs its nodes itself."""
    with TURN.held():
        yield


@pytest.fixture
def clusters(tmp_path: Path) -> Iterator[Clusters]:
    """Clusters for one test; none outlives it."""
    made = Clusters(tmp_path)
    with TURN.held():
        yield made
        made.kill()


@pytest.fixture(scope="module")
def module_clusters(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Clusters]:
    """Clusters that the tests of a module share."""
    made = Clusters(tmp_path_factory.mktemp(request.module.__name__.rpartition(".")[2]))
    with TURN.held():
        yield made
        made.kill()


@pytest.fixture(scope="session")
def tools_api(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Classes that Kafka's dump tool needs and that were never published."""
    classes = tmp_path_factory.mktemp("tools-api")
    command = [required_program("javac", "Kafka's dump tool"), "-d", str(classes), *map(str, TOOLS_API.glob("*.java"))]
    subprocess.run(command, check=True)
    return classes


@pytest.fixture
def newest_checkpoint() -> Callable[[KafkaCluster], Path]:
    """The newest metadata snapshot of a cluster's first node."""

    def find(cluster: KafkaCluster) -> Path:
        return max(cluster.layouts[0].log_dirs[0].glob("__cluster_metadata-0/*.checkpoint"))

    return find
