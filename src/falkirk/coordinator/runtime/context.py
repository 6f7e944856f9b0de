"""The state and settings that all parts of a shard share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from falkirk.coordinator.patterns.topic_matchers import TopicMatchers
from falkirk.coordinator.runtime.counters import GroupCounters
from falkirk.coordinator.runtime.settings import GroupSettings
from falkirk.timers import Timers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.coordinator.records.loader_rules import CoordinatorKind
    from falkirk.coordinator.runtime.group import Group
    from falkirk.coordinator.runtime.outcome import Action
    from falkirk.coordinator.runtime.topics import Topics
    from falkirk.protocol.chance import Chance
    from falkirk.versions.release import Release


@dataclass(slots=True, kw_only=True)
class ShardContext:
    """One for each shard. The driver sets `now_ms` and changed metadata before each step.

    `feature_levels`: the finalized ones (`group.version`, `metadata.version` ...). `group_configs`: those of the
    resource type GROUP, by group, as text. `is_tolerant`: load what the release does not know as KIP-915 asks.
    `topic_matchers`: those of all shards of a node. `slices`: by name the next slice of work that is too long for one
    step; the driver runs one of them in a step.
    """

    release: "Release"
    kind: "CoordinatorKind"
    topics: "Topics"
    random: "Chance"
    now_ms: int
    settings: GroupSettings = field(default_factory=GroupSettings)
    feature_levels: "Mapping[str, int]" = field(default_factory=dict)
    group_configs: "Mapping[str, Mapping[str, str]]" = field(default_factory=dict)
    is_tolerant: bool = False
    groups: "dict[str, Group]" = field(default_factory=dict)
    timers: "Timers[str, Action]" = field(default_factory=Timers)
    slices: "dict[str, Action]" = field(default_factory=dict)
    counters: GroupCounters = field(default_factory=GroupCounters)
    topic_matchers: TopicMatchers = field(default_factory=TopicMatchers)
