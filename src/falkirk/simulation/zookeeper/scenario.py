"""The cluster of a seed on ZooKeeper: brokers, their builds, and their faults."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from falkirk.simulation.zookeeper.world.machine import Build
from falkirk.versions.inter_broker_protocol import IBP_FEATURE
from falkirk.versions.release import Release
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.metadata.zookeeper.finalized_features import Supported
    from falkirk.protocol.chance import Chance

RELEASES: Final = ("3.7", "3.8", "3.9")
FEATURES: Final = ("group_coordinator", IBP_FEATURE), ("transaction_coordinator", "consumer_offsets_topic_schema")
"""The features of each administrator."""
BELOW_MIGRATION: Final = "2.6-IV0"
MIGRATED: Final = "3.7-IV4"
SLOW_ANSWERS: Final = "slow answers"
LATE_NOTIFICATIONS: Final = "late notifications"
BROKEN_SESSIONS: Final = "broken connections to ZooKeeper"
BROKEN_NETWORK: Final = "broken connections"
SLOW_NETWORK: Final = "slow network"
LAGGING_SERVERS: Final = "lagging servers"
LOST_WATCHES: Final = "lost watches"
EXPIRIES: Final = "session expiries"
PARTITIONS: Final = "partitions from ZooKeeper"
READ_ONLY_SERVERS: Final = "read-only servers"
CRASHES: Final = "crashes"
FREEZES: Final = "freezes"
NEW_BUILDS: Final = "new builds"
MOVED_CONTROLLERS: Final = "controllers moved by hand"
EDITED_FEATURES: Final = "features edited by hand"
KINDS: Final = (
    SLOW_ANSWERS,
    LATE_NOTIFICATIONS,
    BROKEN_SESSIONS,
    BROKEN_NETWORK,
    SLOW_NETWORK,
    LAGGING_SERVERS,
    LOST_WATCHES,
    EXPIRIES,
    PARTITIONS,
    READ_ONLY_SERVERS,
    CRASHES,
    FREEZES,
    NEW_BUILDS,
    MOVED_CONTROLLERS,
    EDITED_FEATURES,
)


def _supported(*ranges: str) -> Supported:
    parsed = [SupportedRange.parse(text) for text in ranges]
    names = [name for pair in zip(*FEATURES, strict=True) for name in pair]
    return {name: levels for name, levels in zip(names, parsed, strict=True) if levels is not None}


# One build after the other: levels are added, features appear, old levels go; one had gone too early, and is back.
GENERATIONS: Final = (
    _supported("1", "1-2", "1-2", "none"),
    _supported("1-2", "1-3", "2-3", "1"),
    _supported("1-3", "2-3", "1-4", "1-2"),
    _supported("2-4", "2-4", "1-5", "1-2"),
)
EVERYTHING: Final = _supported("1-9", "1-9", "1-9", "1-9")
"""Supported features that are compatible with every level finalized here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperScenario:
    """`generations`: of each broker's first build. `is_migrating`: brokers begin without feature versioning.

    `writes_kip_778`: controllers write max levels only.
    """

    releases: "Sequence[str]"
    generations: "Sequence[int]"
    is_migrating: bool
    writes_kip_778: bool
    kinds: frozenset[str]
    interval_ms: int
    update_interval_ms: int
    faults_ms: int = 12_000

    @classmethod
    def of(cls, chance: Chance) -> ZooKeeperScenario:
        """Choose a scenario; some seeds have no faults, some have all."""
        count = chance.choice((1, 2, 3, 3, 4))
        draw = chance.random()
        share = 0.0 if draw < 0.08 else 1.0 if draw > 0.88 else chance.random()
        kinds = frozenset(kind for kind in KINDS if chance.random() < share)
        base = chance.choice((0, 1, 1, 2))
        return cls(
            releases=[chance.choice(RELEASES) for _ in range(count)],
            generations=[base + (chance.random() < 0.3) for _ in range(count)],
            is_migrating=chance.random() < 0.2,
            writes_kip_778=chance.random() < 0.15,
            kinds=kinds,
            interval_ms=chance.choice((200, 500, 1200)),
            update_interval_ms=chance.choice((80, 200, 500)),
        )

    def first_build(self, index: int) -> Build:
        """Return a broker's first build."""
        protocol = BELOW_MIGRATION if self.is_migrating else MIGRATED
        return Build(
            Release.parse(self.releases[index]), GENERATIONS[self.generations[index]], protocol, self.writes_kip_778
        )

    def next_build(self, build: Build, chance: Chance) -> Build:
        """Choose a build to replace another."""
        generation = GENERATIONS.index(build.supported) if build.supported in GENERATIONS else 1
        generation = min(max(generation + chance.choice((-1, 0, 1, 1)), 0), len(GENERATIONS) - 1)
        protocol = build.inter_broker_protocol
        if self.is_migrating and chance.random() < 0.5:
            protocol = chance.choice((BELOW_MIGRATION, MIGRATED, MIGRATED))
        release = Release.parse(chance.choice(RELEASES))
        return replace(build, release=release, supported=GENERATIONS[generation], inter_broker_protocol=protocol)

    def __str__(self) -> str:
        """Return a summary in one line."""
        brokers = ", ".join(
            f"{release} of generation {generation}"
            for release, generation in zip(self.releases, self.generations, strict=True)
        )
        kinds = ", ".join(kind for kind in KINDS if kind in self.kinds) or "none"
        start = f" from {BELOW_MIGRATION}" if self.is_migrating else ""
        start += ", KIP-778" if self.writes_kip_778 else ""
        return f"brokers {brokers}{start}; faults: {kinds}; every {self.interval_ms} ms"
