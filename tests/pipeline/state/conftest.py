"""Directories of real clusters, unpacked once; whoever changes something copies them first."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from archives import unpack_cluster


@pytest.fixture(scope="session")
def kafka_directory(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the unpacked `data` folder of a cluster by name; only to be read."""
    return cache(lambda name: unpack_cluster(name, tmp_path_factory.mktemp(name)))
