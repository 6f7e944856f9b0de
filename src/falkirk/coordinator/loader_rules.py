"""How the group coordinators of the releases differ in what they load; read in their source and class files.

There are two coordinators. The old one is that of the classic protocol alone: 3.7 to 3.9 run it unless they are
configured otherwise, 4.0 only if it is configured so, later releases never. The new one came with KIP-848.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.prediction.kafka_reader import ReadLimits
from falkirk.coordinator.record_type import GroupType
from falkirk.versions.errors import IncompleteReleaseError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.release import Release


class CoordinatorKind(enum.StrEnum):
    """Which of the two group coordinators a broker runs."""

    OLD = "old"
    NEW = "new"


class PartitionOwnership(enum.Enum):
    """What the new coordinator asks when partitions go from one member of a consumer group to another."""

    UNCHECKED = enum.auto()
    EXACT = enum.auto()
    """Whoever gets a partition must find it free, whoever gives it back must still have it."""
    NEWER_EPOCH_WINS = enum.auto()
    """A partition may be taken over at a higher epoch; one that is gone needs not be given back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderRules:
    """One coordinator of one release."""

    kind: CoordinatorKind
    known_types: frozenset[int]
    """Types that its deserialiser knows; it skips all others."""
    refused_types: frozenset[int] = frozenset()
    """Types that it reads and then refuses to replay, values and tombstones alike."""
    checks_value_versions: bool = True
    """Else a value of any version is read like the nearest version known."""
    any_value_makes_consumer_group: bool = True
    """Any value makes the group and the member that it speaks of, and tombstones of what is not there are no-ops.

    Else most records need the group, or the member, to be there.
    """
    any_value_makes_share_group: bool = True
    simple_groups_become: frozenset[GroupType] = frozenset({GroupType.CONSUMER, GroupType.STREAMS})
    """A group that has but offsets becomes one of these by its first record; of another type that is an error."""
    tombstones_convert_simple_groups: bool = True
    """So it does even if that record is a tombstone; else the tombstone is one of what is not there."""
    ownership: PartitionOwnership = PartitionOwnership.NEWER_EPOCH_WINS
    refuses_repeated_topics: bool = False
    """A topic that stands twice in a member's current assignment is an error; else the last one counts."""
    checks_task_owners: bool = False
    """A streams group's task is given back by the process that has it, and an active one only then taken by another."""
    refuses_repeated_subtopologies: bool = False
    """A subtopology that stands twice among a member's current tasks of one kind is an error."""
    checks_assignment_epochs: bool = False
    """Where a streams member's active tasks have epochs, there are as many of them as of partitions."""
    checks_partition_metadata: bool = False
    """Topics in partition metadata need an id, a name and a count of partitions that is not negative."""
    checks_target_epoch: bool = True
    """The epoch of a target assignment is at least -1, its timestamp at least 0."""
    refuses_bad_subscriptions: bool = True
    """A classic consumer's subscription that does not parse is an error, unless it is but cut off; else a warning."""
    checks_removals: bool = True
    """A group, a member or a target assignment's epoch is deleted after all that belongs to it."""
    tombstones_end_pending_offsets: bool = True
    """An offset's tombstone also ends what open transactions have pending for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderRules:
    """The readers of one release's coordinators: of groups, of transactions, and of share groups' state."""

    limits: ReadLimits | None = None
    """None: no limit but the bytes that are left."""
    skips_unknown_transaction_versions: bool = False
    """An unknown value version in `__transaction_state` is skipped with a warning; else it throws."""
    share_tombstones: frozenset[int] = frozenset()
    """Types of `__share_group_state` whose tombstones are replayed; on others null is dereferenced."""


def loader_rules(release: Release, kind: CoordinatorKind | None = None) -> LoaderRules:
    """Give the rules of a release's coordinator; None: the one that it runs unless configured otherwise.

    Raises IncompleteReleaseError for a release whose coordinator was not read, or that has none of this kind.
    """
    rules = _RULES.get((release.name, kind or default_coordinator(release)))
    if rules is None:
        what = "" if kind is None else f" {kind}"
        raise IncompleteReleaseError(f"how the{what} group coordinator of release {release} loads is not in the tables")
    return rules


def tolerant_rules(rules: LoaderRules) -> LoaderRules:
    """Give the rules with which a coordinator loads whatever it can read, as KIP-915 asks, and however it is compacted.

    What it cannot replay it skips, as it does what it does not know. In whatever order the records of a group come, the
    last of each key counts. What does not parse, or speaks of a group of another type, is an error all the same.
    """
    return replace(
        rules,
        known_types=rules.known_types - rules.refused_types,
        refused_types=frozenset(),
        checks_value_versions=True,
        any_value_makes_consumer_group=True,
        any_value_makes_share_group=True,
        simple_groups_become=_BEYOND_CLASSIC,
        tombstones_convert_simple_groups=False,
        ownership=PartitionOwnership.UNCHECKED,
        refuses_repeated_topics=False,
        checks_task_owners=False,
        refuses_repeated_subtopologies=False,
        checks_assignment_epochs=False,
        checks_partition_metadata=False,
        checks_target_epoch=False,
        refuses_bad_subscriptions=False,
        checks_removals=False,
        tombstones_end_pending_offsets=True,
    )


def default_coordinator(release: Release) -> CoordinatorKind:
    """Say which coordinator a release runs unless configured otherwise."""
    # Who still had ZooKeeper still ran the old coordinator: both ended with 4.0.
    return CoordinatorKind.OLD if release.has_zookeeper else CoordinatorKind.NEW


def configured_coordinator(release: Release, properties: Mapping[str, str]) -> CoordinatorKind:
    """Say which coordinator a broker with this `server.properties` runs under a release.

    3.7 to 3.9 run the new one with `group.coordinator.new.enable=true`, or with `consumer` among
    `group.coordinator.rebalance.protocols`; 4.0 runs the old one with `group.coordinator.new.enable=false`.
    """
    default = default_coordinator(release)
    enabled = properties.get(_NEW_COORDINATOR, "").strip().lower()
    if default is CoordinatorKind.NEW:
        has_old = (release.name, CoordinatorKind.OLD) in _RULES
        return CoordinatorKind.OLD if has_old and enabled == "false" else CoordinatorKind.NEW
    protocols = properties.get(_PROTOCOLS, "").split(",")
    if enabled == "true" or "consumer" in (protocol.strip() for protocol in protocols):
        return CoordinatorKind.NEW
    return default


def unknown_protocols(release: Release, properties: Mapping[str, str]) -> list[str]:
    """Name what `group.coordinator.rebalance.protocols` asks for and a release does not know: it does not start."""
    named = [protocol.strip() for protocol in properties.get(_PROTOCOLS, "").split(",") if protocol.strip()]
    known = _REBALANCE_PROTOCOLS.get(release.name)
    return [] if known is None else [protocol for protocol in named if protocol not in known]


def reader_rules(release: Release) -> ReaderRules:
    """Give what the readers of a release's coordinators do, whichever of the group coordinators it runs.

    Raises IncompleteReleaseError for a release whose readers were not read.
    """
    rules = _READERS.get(release.name)
    if rules is None:
        raise IncompleteReleaseError(f"how the coordinators of release {release} read is not in the tables")
    return rules


_NEW_COORDINATOR = "group.coordinator.new.enable"
_PROTOCOLS = "group.coordinator.rebalance.protocols"
_BEFORE_SHARE: Final = frozenset({"classic", "consumer"})
_BEFORE_STREAMS: Final = _BEFORE_SHARE | {"share"}
_WITH_STREAMS: Final = _BEFORE_STREAMS | {"streams"}
_REBALANCE_PROTOCOLS: Final = {
    "3.7.2": _BEFORE_SHARE,
    "3.8.1": _BEFORE_SHARE,
    "3.9.1": _BEFORE_STREAMS,
    "4.0.0": _BEFORE_STREAMS,
    "4.1.1": _WITH_STREAMS,
    "4.2.1": _WITH_STREAMS,
    "4.3.1": _WITH_STREAMS,
    "4.4.0": _WITH_STREAMS,
}

_BEYOND_CLASSIC: Final = frozenset({GroupType.CONSUMER, GroupType.SHARE, GroupType.STREAMS})

_CLASSIC_TYPES: Final = frozenset({0, 1, 2})
_CONSUMER_TYPES: Final = frozenset({3, 4, 5, 6, 7, 8})
_SHARE_TYPES: Final = frozenset({10, 11, 12, 13, 14, 15})
_STREAMS_TYPES: Final = frozenset({17, 19, 20, 21, 22, 23})

_OLD = LoaderRules(kind=CoordinatorKind.OLD, known_types=_CLASSIC_TYPES, tombstones_end_pending_offsets=False)
_NEW_3_8 = LoaderRules(
    kind=CoordinatorKind.NEW,
    known_types=_CLASSIC_TYPES | _CONSUMER_TYPES,
    checks_value_versions=False,
    any_value_makes_consumer_group=False,
    simple_groups_become=frozenset(),
    ownership=PartitionOwnership.EXACT,
    refuses_repeated_topics=True,
    checks_partition_metadata=True,
    checks_target_epoch=False,
)
_NEW_4_3 = LoaderRules(
    kind=CoordinatorKind.NEW,
    known_types=_CLASSIC_TYPES | _CONSUMER_TYPES | {16} | _SHARE_TYPES | _STREAMS_TYPES,
)

_RULES: Final[dict[tuple[str, CoordinatorKind], LoaderRules]] = {
    ("3.7.2", CoordinatorKind.OLD): _OLD,
    ("3.7.2", CoordinatorKind.NEW): LoaderRules(
        kind=CoordinatorKind.NEW,
        known_types=_CLASSIC_TYPES | _CONSUMER_TYPES,
        checks_value_versions=False,
        any_value_makes_consumer_group=False,
        simple_groups_become=frozenset(),
        ownership=PartitionOwnership.UNCHECKED,
        refuses_repeated_topics=True,
        checks_partition_metadata=True,
        checks_target_epoch=False,
        tombstones_end_pending_offsets=False,
    ),
    ("3.8.1", CoordinatorKind.OLD): _OLD,
    ("3.8.1", CoordinatorKind.NEW): _NEW_3_8,
    ("3.9.1", CoordinatorKind.OLD): _OLD,
    ("3.9.1", CoordinatorKind.NEW): _NEW_3_8,
    ("4.0.0", CoordinatorKind.OLD): _OLD,
    ("4.0.0", CoordinatorKind.NEW): LoaderRules(
        kind=CoordinatorKind.NEW,
        known_types=_CLASSIC_TYPES | _CONSUMER_TYPES | {9, 16} | _SHARE_TYPES,
        # The share groups of 4.0 were an early access: it knows how to read these records, but not how to replay them.
        refused_types=frozenset({15}),
        any_value_makes_share_group=False,
        ownership=PartitionOwnership.EXACT,
        refuses_repeated_topics=True,
        checks_partition_metadata=True,
        checks_target_epoch=False,
    ),
    ("4.1.1", CoordinatorKind.NEW): replace(
        _NEW_4_3,
        simple_groups_become=frozenset({GroupType.CONSUMER}),
        ownership=PartitionOwnership.EXACT,
        refuses_repeated_topics=True,
        checks_task_owners=True,
        refuses_repeated_subtopologies=True,
        checks_target_epoch=False,
    ),
    ("4.2.1", CoordinatorKind.NEW): replace(
        _NEW_4_3,
        refuses_repeated_topics=True,
        checks_assignment_epochs=True,
        checks_target_epoch=False,
    ),
    ("4.3.1", CoordinatorKind.NEW): _NEW_4_3,
    ("4.4.0", CoordinatorKind.NEW): replace(_NEW_4_3, refuses_bad_subscriptions=False),
}

_READERS_4_1 = ReaderRules(share_tombstones=frozenset({0}))
_READERS_4_3 = replace(_READERS_4_1, skips_unknown_transaction_versions=True)

_READERS: Final[dict[str, ReaderRules]] = {
    "3.7.2": ReaderRules(),
    "3.8.1": ReaderRules(),
    "3.9.1": ReaderRules(),
    "4.0.0": ReaderRules(),
    "4.1.1": _READERS_4_1,
    "4.2.1": _READERS_4_1,
    "4.3.1": _READERS_4_3,
    "4.4.0": replace(_READERS_4_3, limits=ReadLimits(elements_max=1_000_000, tagged_fields_max=10_000)),
}
