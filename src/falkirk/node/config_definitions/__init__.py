"""The keys of server.properties, by release: each release's module says what it changed."""

from __future__ import annotations

import functools
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from falkirk.node.config_definitions import (
    kafka_3_7_2,
    kafka_3_8_1,
    kafka_3_9_1,
    kafka_4_0_0,
    kafka_4_1_1,
    kafka_4_2_1,
    kafka_4_3_1,
    kafka_4_4_0,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.config_definition import Definition
    from falkirk.versions.release import Release


@functools.cache
def definitions(release: Release) -> Mapping[str, Definition]:
    """Give every key that a release from 3.7 on knows."""
    known: dict[str, Definition] = {}
    for name, changes in _CHANGES.items():
        known |= changes.DEFINED
        for removed in changes.REMOVED:
            del known[removed]
        if name == release.name:
            return MappingProxyType(known)
    raise AssertionError(f"no keys of release {release} are in the tables")


# Oldest first.
_CHANGES: Final = {
    "3.7.2": kafka_3_7_2,
    "3.8.1": kafka_3_8_1,
    "3.9.1": kafka_3_9_1,
    "4.0.0": kafka_4_0_0,
    "4.1.1": kafka_4_1_1,
    "4.2.1": kafka_4_2_1,
    "4.3.1": kafka_4_3_1,
    "4.4.0": kafka_4_4_0,
}
