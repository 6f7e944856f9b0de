"""Directories of real clusters, unpacked once; tests that change something get a copy of their own."""

import shutil
import tarfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

CLUSTERS = Path(__file__).parent.parent / "data" / "clusters"


@pytest.fixture(scope="session")
def kafka_directory(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Give the unpacked `data` folder of a cluster by name; only to be read."""

    @cache
    def unpack(name: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        with tarfile.open(CLUSTERS / f"{name}.tar.gz") as file:
            file.extractall(folder, filter="data")
        return folder / "data"

    return unpack


@pytest.fixture
def own_directory(kafka_directory: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """Give a copy of a cluster's `data` folder that the test may change."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(kafka_directory(name), tmp_path / name))

    return copy
