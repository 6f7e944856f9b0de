"""The order of features in an ApiVersions response: that of the hash maps in which Kafka keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol.java_hash_map import copy_capacity, map_order
from falkirk.versions.features import KRAFT_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable


def supported_order(names: Iterable[str]) -> list[str]:
    """Return the names of supported features in that order."""
    return map_order(sorted(names, key=lambda name: (name != METADATA_VERSION, name)))


def finalized_order(names: Iterable[str]) -> list[str]:
    """Return the names of finalized features in that order.

    Kafka inserts metadata.version after the others, and kraft.version last.
    """
    ordered = sorted(set(names) - {METADATA_VERSION, KRAFT_VERSION})
    for last in (METADATA_VERSION, KRAFT_VERSION):
        if last in names:
            ordered = map_order([*ordered, last], copy_capacity(len(ordered)))
    return ordered
