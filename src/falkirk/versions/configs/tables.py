"""The config tables of all releases, put together for one of them."""

from __future__ import annotations

import functools
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from falkirk.versions.configs.releases import (
    kafka_3_7_2,
    kafka_3_8_1,
    kafka_3_9_1,
    kafka_4_0_0,
    kafka_4_1_1,
    kafka_4_2_1,
    kafka_4_3_1,
    kafka_4_4_0,
)
from falkirk.versions.release import Release, all_releases

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.configs.definition import ConfigChanges, Definition

Kind = Literal["server", "topic", "group", "client_metrics"]

# Oldest first.
_ALL_CHANGES: Final = (
    kafka_3_7_2.CHANGES,
    kafka_3_8_1.CHANGES,
    kafka_3_9_1.CHANGES,
    kafka_4_0_0.CHANGES,
    kafka_4_1_1.CHANGES,
    kafka_4_2_1.CHANGES,
    kafka_4_3_1.CHANGES,
    kafka_4_4_0.CHANGES,
)


@functools.cache
def definitions_of(kind: Kind, release: Release) -> Mapping[str, Definition]:
    """Return what a release defines, by key, sorted; nothing before 3.7."""
    known: dict[str, Definition] = {}
    for changes in changes_to(release):
        for name, definition in _changed(changes, kind).items():
            if definition is None:
                del known[name]
            else:
                known[name] = definition
    return MappingProxyType(dict(sorted(known.items())))


def names_since(kind: Kind, release: Release) -> frozenset[str]:
    """Return the keys that came after a release and after the first release that has any of the kind."""
    first = next(changes for changes in _ALL_CHANGES if _changed(changes, kind))
    later = (changes for changes in _ALL_CHANGES if changes is not first and not is_since(release, changes.release))
    known = {**definitions_of(kind, release), **_changed(first, kind)}
    return frozenset(name for changes in later for name in _changed(changes, kind) if name not in known)


def changes_to(release: Release) -> tuple[ConfigChanges, ...]:
    """Return the changes of all releases up to one, oldest first."""
    return tuple(changes for changes in _ALL_CHANGES if is_since(release, changes.release))


def is_since(release: Release, word: str) -> bool:
    """Return whether a release is the named one or a later one."""
    order = all_releases()
    return order.index(Release.parse(word)) <= order.index(release)


def _changed(changes: ConfigChanges, kind: Kind) -> Mapping[str, Definition | None]:
    return {
        "server": changes.server,
        "topic": changes.topic,
        "group": changes.group,
        "client_metrics": changes.client_metrics,
    }[kind]
