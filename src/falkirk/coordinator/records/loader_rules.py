"""How the releases' group coordinators differ in what they load, found in their source and class files.

There are two coordinators. The old one has the classic protocol only: 3.7 to 3.9 run it unless configured otherwise,
4.0 only if so configured, later releases never. The new one came with KIP-848.
"""

from __future__ import annotations

import enum
import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.records.record_type import GroupType
from falkirk.protocol.lax_reader import ReadLimits
from falkirk.versions.errors import IncompleteReleaseError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.release import Release


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
_READ_LIMITS: Final[dict[str, ReadLimits | None]] = {
    "3.7.2": None,
    "3.8.1": None,
    "3.9.1": None,
    "4.0.0": None,
    "4.1.1": None,
    "4.2.1": None,
    "4.3.1": None,
    "4.4.0": ReadLimits(elements_max=1_000_000, tagged_fields_max=10_000),
}
_BEYOND_CLASSIC: Final = frozenset({GroupType.CONSUMER, GroupType.SHARE, GroupType.STREAMS})
_CLASSIC_TYPES: Final = frozenset({0, 1, 2})
_CONSUMER_TYPES: Final = frozenset({3, 4, 5, 6, 7, 8})
_SHARE_TYPES: Final = frozenset({10, 11, 12, 13, 14, 15})
_STREAMS_TYPES: Final = frozenset({17, 19, 20, 21, 22, 23})


class CoordinatorKind(enum.StrEnum):
    """Which of the two group coordinators a broker runs."""

    OLD = "old"
    NEW = "new"


class PartitionOwnership(enum.Enum):
    """What the new coordinator checks when partitions move between members of a consumer group."""

    UNCHECKED = enum.auto()
    EXACT = enum.auto()
    """A partition must be free when it is assigned, and still owned when it is released."""
    NEWER_EPOCH_WINS = enum.auto()
    """A partition may be taken over at a higher epoch; a lost one need not be released."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderRules:
    """The rules of one coordinator of one release."""

    kind: CoordinatorKind
    known_types: frozenset[int]
    """Types that its deserializer knows; it skips all others."""
    refused_types: frozenset[int] = frozenset()
    """Types that it reads but refuses to replay, values and tombstones alike."""
    checks_value_versions: bool = True
    """False: a value of any version is read as the nearest known version."""
    any_value_makes_consumer_group: bool = True
    """Any value creates its group and member, and tombstones of unknown keys are no-ops.

    False: most records need an existing group or member.
    """
    any_value_makes_share_group: bool = True
    simple_groups_become: frozenset[GroupType] = frozenset({GroupType.CONSUMER, GroupType.STREAMS})
    """The types to which a group that only holds offsets converts by its first record; other types are an error."""
    tombstones_convert_simple_groups: bool = True
    """It converts even if that record is a tombstone. False: the tombstone is one of an unknown key."""
    ownership: PartitionOwnership = PartitionOwnership.NEWER_EPOCH_WINS
    refuses_repeated_topics: bool = False
    """A repeated topic in a member's current assignment is an error. False: the last one counts."""
    checks_task_owners: bool = False
    """A streams task is released by the process that has it, and an active one only then taken over."""
    refuses_repeated_subtopologies: bool = False
    """A repeated subtopology among a member's current tasks of one kind is an error."""
    checks_assignment_epochs: bool = False
    """If a streams member's active tasks have epochs, there must be one for each partition."""
    checks_partition_metadata: bool = False
    """Topics in partition metadata need an id, a name and a count of partitions of at least 0."""
    checks_target_epoch: bool = True
    """The epoch of a target assignment is at least -1, its timestamp at least 0."""
    refuses_bad_subscriptions: bool = True
    """A classic consumer's broken subscription is an error, unless it is merely truncated. False: a warning."""
    checks_removals: bool = True
    """A group, a member or a target assignment's epoch is deleted after everything that belongs to it."""
    tombstones_end_pending_offsets: bool = True
    """An offset's tombstone also removes its pending offsets of open transactions."""


def loader_rules(release: Release, kind: CoordinatorKind | None = None) -> LoaderRules:
    """Return the rules of a release's coordinator; `kind` None: the one that it runs unless configured otherwise.

    Raises IncompleteReleaseError for a release whose coordinator is not in the tables, or that has none of this kind.
    """
    rules = _RULES.get((release.name, kind or default_coordinator(release)))
    if rules is None:
        what = "" if kind is None else f" {kind}"
        raise IncompleteReleaseError(f"how the{what} group coordinator of release {release} loads is not in the tables")
    return rules


def tolerant_rules(rules: LoaderRules) -> LoaderRules:
    """Return the rules of a coordinator that loads whatever it can read (KIP-915), however the log is compacted.

    It skips what it cannot replay, like unknown types. The last record of each key counts, in whatever order a group's
    records come. Records that do not parse, or belong to a group of another type, are still errors.
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


@functools.cache
def default_coordinator(release: Release) -> CoordinatorKind:
    """Return the coordinator that a release runs unless configured otherwise."""
    # Who still had ZooKeeper still ran the old coordinator: both ended with 4.0.
    return CoordinatorKind.OLD if release.has_zookeeper else CoordinatorKind.NEW


def configured_coordinator(release: Release, properties: Mapping[str, str]) -> CoordinatorKind:
    """Return the coordinator that a broker with this `server.properties` runs under a release.

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
    """Return the names in `group.coordinator.rebalance.protocols` that a release does not know: it does not start."""
    named = [protocol.strip() for protocol in properties.get(_PROTOCOLS, "").split(",") if protocol.strip()]
    known = _REBALANCE_PROTOCOLS.get(release.name)
    return [] if known is None else [protocol for protocol in named if protocol not in known]


def read_limits(release: Release) -> ReadLimits | None:
    """Return the limits of a release's readers; None: only the remaining bytes limit them.

    Raises IncompleteReleaseError for a release whose readers are not in the tables.
    """
    if release.name not in _READ_LIMITS:
        raise IncompleteReleaseError(f"how the coordinators of release {release} read is not in the tables")
    return _READ_LIMITS[release.name]


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
