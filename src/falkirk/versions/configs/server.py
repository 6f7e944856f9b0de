"""The keys of server.properties by release."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.versions.configs.definition import ConfigType, Definition, Range
from falkirk.versions.configs.tables import changes_to, definitions_of, is_since

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.release import Release

THROTTLES: Final[Mapping[str, Definition]] = {
    name: Definition(ConfigType.LONG, 2**63 - 1, Range(0))
    for name in (
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    )
}
"""Dynamic broker configs that are no keys of server.properties (KIP-73, KIP-113); bytes per second."""


@dataclass(frozen=True, slots=True)
class LimitPhrases:
    """What a release says of two keys of which one limits the other; `heartbeat`: None if it is not compared."""

    at_least: str
    at_most: str
    heartbeat: str | None


_OLDER_PHRASES: Final = LimitPhrases("must be greater than or equals to", "must be less than or equals to", None)
_PHRASES: Final = LimitPhrases("must be greater than or equal to", "must be less than or equal to", "must be less than")


def phrases_of_limits(release: Release) -> LimitPhrases:
    """Return the phrases of a release."""
    return _PHRASES if is_since(release, "4.0") else _OLDER_PHRASES


def definitions(release: Release) -> Mapping[str, Definition]:
    """Return every key that a release from 3.7 on defines."""
    known = definitions_of("server", release)
    assert known, f"no keys of release {release} are in the tables"
    return known


@functools.cache
def dynamic_configs(release: Release) -> frozenset[str]:
    """Return the dynamic broker configs of a release from 3.7 on, replication quotas included."""
    quotas = (changes.dynamic_quotas for changes in changes_to(release))
    return frozenset().union(*quotas) | {name for name, key in definitions(release).items() if key.is_dynamic}


def dynamic_lists(release: Release) -> Mapping[str, Definition]:
    """Return the dynamic configs that are lists: IncrementalAlterConfigs can append to them."""
    known = definitions_of("server", release)
    return {name: key for name, key in known.items() if key.is_dynamic and key.type is ConfigType.LIST}


@functools.cache
def internal_configs(release: Release) -> frozenset[str]:
    """Return the keys that DescribeConfigs names only where server.properties sets them."""
    return frozenset(name for name, key in definitions(release).items() if key.is_internal)
