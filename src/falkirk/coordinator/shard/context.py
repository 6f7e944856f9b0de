"""What the parts of a shard share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from falkirk.coordinator.shard.counters import GroupCounters
from falkirk.coordinator.shard.settings import GroupSettings
from falkirk.coordinator.shard.timers import Timers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.coordinator.loader_rules import CoordinatorKind
    from falkirk.coordinator.shard.group import Group
    from falkirk.coordinator.shard.topics import Topics
    from falkirk.protocol.chance import Chance
    from falkirk.versions.release import Release


@dataclass(slots=True, kw_only=True)
class ShardContext:
    """One for each shard. Whoever steps the shard sets `now_ms`, and what of the metadata has changed.

    `feature_levels`: the finalized ones (`group.version`, `metadata.version` ...). `group_configs`: those of the
    resource type GROUP, by group, as text. `is_tolerant`: reads what the release does not know as KIP-915 asks.
    """

    release: Release
    kind: CoordinatorKind
    topics: Topics
    random: Chance
    now_ms: int
    settings: GroupSettings = field(default_factory=GroupSettings)
    feature_levels: Mapping[str, int] = field(default_factory=dict)
    group_configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    is_tolerant: bool = False
    groups: dict[str, Group] = field(default_factory=dict)
    timers: Timers = field(default_factory=Timers)
    counters: GroupCounters = field(default_factory=GroupCounters)
