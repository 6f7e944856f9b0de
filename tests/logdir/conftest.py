"""Directories of real clusters, unpacked once, and what becomes of them; who changes something gets a copy."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from archives import unpack_cluster
from made_clusters import METADATA, MadeCluster
from stopped_clusters import DISK, hashes, plan_for

from falkirk.logdir.downgrade import DowngradeResult, downgrade


@pytest.fixture(autouse=True, scope="session")
def _no_waiting_for_the_disk() -> None:
    """Spare the tests what only a power cut could tell: `sync` waits for everything that the machine writes."""
    patch = pytest.MonkeyPatch()
    patch.setattr(os, "sync", lambda: None)
    yield
    patch.undo()


@pytest.fixture(scope="session")
def kafka_directory(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the unpacked `data` folder of a cluster by name; only to be read."""

    @cache
    def unpack(name: str) -> Path:
        return unpack_cluster(name, tmp_path_factory.mktemp(name))

    return unpack


@pytest.fixture
def own_directory(kafka_directory: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """Return a copy of a cluster's `data` folder that the test may change."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(kafka_directory(name), tmp_path / name))

    return copy


@pytest.fixture
def own_metadata(kafka_directory: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """Return a copy of a cluster's `data` folder with no partition but the metadata's."""

    def is_data(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if (Path(folder) / name / "partition.metadata").exists() and name != METADATA]

    def copy(name: str) -> Path:
        return Path(shutil.copytree(kafka_directory(name), tmp_path / name, ignore=is_data))

    return copy


@dataclass(frozen=True)
class Downgraded:
    """A downgrade that was done, with the hashes of all files of the source as they were before it."""

    source: Path
    hashes_before: dict[str, str]
    result: DowngradeResult

    @property
    def out(self) -> Path:
        return self.result.out


@pytest.fixture(scope="session")
def downgraded(kafka_directory: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory):
    """Return the result of a downgrade of a real cluster by (name, target); only to be read."""

    @cache
    def make(name: str, to: str) -> Downgraded:
        source = kafka_directory(name)
        before = hashes(source)
        out = tmp_path_factory.mktemp(f"{name}-to-{to}") / "out"
        return Downgraded(source, before, downgrade(DISK, plan_for(to, source), out, unsafe=True))

    return make


@pytest.fixture
def made_cluster(tmp_path: Path) -> Callable[..., MadeCluster]:
    """Return a small cluster made for the test, by the fields of MadeCluster."""

    def make(name: str = "cluster", **fields: object) -> MadeCluster:
        return MadeCluster(root=tmp_path / name, **fields).make()

    return make
