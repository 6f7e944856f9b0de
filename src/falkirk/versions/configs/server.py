"""The keys of server.properties by release."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from falkirk.versions.configs.definition import ConfigType
from falkirk.versions.configs.tables import changes_to, definitions_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.configs.definition import Definition
    from falkirk.versions.release import Release


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
