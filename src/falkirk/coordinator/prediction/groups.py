"""Predicts what a release's group coordinator makes of each group, for files, the pipeline and live clusters alike.

answer = readable_groups(Release.parse("4.0"), {0: entries_of_partition_0, 1: ...})
answer.groups      # each with its type, members, offsets, a verdict, and what is lost
answer.failing     # the records to remove so that every partition loads
"""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from falkirk.coordinator.prediction.group_survey import GroupSurvey, SurveyedGroup, key_group, key_type
from falkirk.coordinator.prediction.loading import LoadedGroup, PartitionLoad
from falkirk.coordinator.prediction.verdict import SKIPPED
from falkirk.coordinator.records.loader_rules import CoordinatorKind, default_coordinator
from falkirk.coordinator.records.log_entry import LoggedRecord
from falkirk.coordinator.records.record_type import GroupType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from falkirk.coordinator.records.log_entry import LogEntry
    from falkirk.versions.release import Release


class GroupVerdict(enum.StrEnum):
    """What becomes of a group on the target."""

    READABLE = "readable"
    """The same group, with all its members and offsets."""
    APPEARS_EMPTY = "appears_empty"
    """Its offsets are all served, but it has no members and can be joined by the classic protocol."""
    UNREADABLE = "unreadable"
    """Records of it have to be removed, offsets are not served, or nothing of it is usable (a share group)."""


class LossKind(enum.StrEnum):
    """The part of a group that the target lacks."""

    GROUP = "group"
    """Its type, epochs and assignments, and for a share group the access to its delivery state."""
    MEMBERS = "members"
    COMMITTED_OFFSETS = "committed_offsets"
    PENDING_OFFSETS = "pending_offsets"
    RECORDS = "records"
    """Records that fail to load."""


@dataclass(frozen=True, slots=True)
class GroupLoss:
    """The number of losses of a kind."""

    kind: LossKind
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingRecord:
    """A record that ends the load of its partition. Fields that its key does not reveal are None."""

    partition: int
    offset: int
    type: int | None
    group_id: str | None
    is_tombstone: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReadability:
    """A group as its records define it, and what the target makes of it."""

    partition: int
    group_id: str
    type: GroupType
    members: int
    committed_offsets: int
    pending_offsets: int
    verdict: GroupVerdict
    losses: tuple[GroupLoss, ...] = ()
    hidden_by: int | None = None
    """Offset of a tombstone that does not fail, but deletes the group that has the lost offsets.

    A classic group left it when it became a streams group: the target deletes the former, does not know the latter, and
    serves offsets only of groups that it has. Without this record it would serve them.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsReadability:
    """All groups of the given partitions, by partition and id, and what does not load."""

    release: "Release"
    kind: CoordinatorKind
    groups: tuple[GroupReadability, ...]
    failing: tuple[FailingRecord, ...]
    skipped: "Mapping[int, int]"
    """The number of records of each unknown type that the target skips, each with a warning."""


def readable_groups(
    release: Release,
    partitions: Mapping[int, Iterable[LogEntry]],
    kind: CoordinatorKind | None = None,
    *,
    is_tolerant: bool = False,
) -> GroupsReadability:
    """Predict what a release's coordinator makes of partitions of `__consumer_offsets`; entries come in log order.

    `kind` as for `loader_rules`, `is_tolerant` as for `PartitionLoad`. Entries are iterated once, and again in the rare
    case that the coordinator stops after it has read them all: pass a collection, or an iterable that can restart.
    Raises IncompleteReleaseError for a release whose coordinator is not in the tables.
    """
    groups: list[GroupReadability] = []
    failing: list[FailingRecord] = []
    skipped: Counter[int] = Counter()
    for partition, entries in sorted(partitions.items()):
        loaded = _load(partition, entries, partial(PartitionLoad, release, kind, is_tolerant=is_tolerant))
        groups += _judge(partition, loaded)
        failing += loaded.failing
        skipped += loaded.skipped
    return GroupsReadability(
        release=release,
        kind=kind or default_coordinator(release),
        groups=tuple(groups),
        failing=tuple(failing),
        skipped=dict(sorted(skipped.items())),
    )


@dataclass(slots=True)
class _LoadedPartition:
    load: PartitionLoad
    survey: GroupSurvey
    failing: list[FailingRecord]
    skipped: Counter[int]


def _load(partition: int, entries: Iterable[LogEntry], begin: Callable[..., PartitionLoad]) -> _LoadedPartition:
    late: dict[int, str] = {}
    while True:
        result = _LoadedPartition(begin(without=late), GroupSurvey(), [], Counter())
        for entry in entries:
            verdict = result.load.replay(entry)
            result.survey.add(entry)
            if isinstance(entry, LoggedRecord):
                if verdict.fails:
                    result.failing.append(failing_record(partition, entry, verdict.reason))
                elif verdict is SKIPPED:
                    result.skipped[key_type(entry.key) or 0] += 1
                elif late and entry.offset in late:
                    result.failing.append(failing_record(partition, entry, late[entry.offset]))
        stops = result.load.finish()
        if not stops:
            return result
        # Without a record an older one of its key counts again, so load again; each round removes at least one more.
        late |= dict(stops)


def failing_record(partition: int, record: LoggedRecord, reason: str) -> FailingRecord:
    """Return a record that ends the load of its partition."""
    return FailingRecord(
        partition=partition,
        offset=record.offset,
        type=key_type(record.key),
        group_id=key_group(record.key),
        is_tombstone=record.value is None,
        reason=reason,
    )


def _judge(partition: int, loaded: _LoadedPartition) -> list[GroupReadability]:
    pending = loaded.load.offsets.pending_by_group()
    failures = Counter(record.group_id for record in loaded.failing)
    return [
        judge_group(partition, group_id, group, loaded.load, pending, failures[group_id])
        for group_id, group in loaded.survey.groups().items()
    ]


def judge_group(  # noqa: PLR0917 - what a verdict is made of
    partition: int,
    group_id: str,
    group: SurveyedGroup,
    load: PartitionLoad,
    pending: Mapping[str, set[bytes]],
    failures: int,
) -> GroupReadability:
    """Return what a release makes of one group. `pending`: the load's `pending_by_group`; `failures`: failing records.

    Offsets without a group are served by no coordinator but the old one: what a newer release does not serve either is
    not lost.
    """
    target = load.group(group_id)
    is_served = target is not None or group.type is GroupType.SIMPLE
    committed = group.committed - (load.offsets.committed_by(group_id) if is_served else frozenset())
    waiting = group.pending - (pending.get(group_id, frozenset()) if is_served else frozenset())
    losses = _losses(group, target, len(committed), len(waiting), failures)
    return GroupReadability(
        partition=partition,
        group_id=group_id,
        type=group.type,
        members=group.members,
        committed_offsets=len(group.committed),
        pending_offsets=len(group.pending),
        verdict=_verdict(group, losses),
        losses=losses,
        hidden_by=load.deleted_at(group_id) if committed and not is_served else None,
    )


def _losses(
    group: SurveyedGroup, target: LoadedGroup | None, committed: int, pending: int, failures: int
) -> tuple[GroupLoss, ...]:
    is_same = target is not None and target.type is group.type
    members = group.members - (target.members if target is not None and is_same else 0)
    counts = {
        LossKind.GROUP: int(not is_same and group.type is not GroupType.SIMPLE),
        LossKind.MEMBERS: members,
        LossKind.COMMITTED_OFFSETS: committed,
        LossKind.PENDING_OFFSETS: pending,
        LossKind.RECORDS: failures,
    }
    return tuple(GroupLoss(kind, count) for kind, count in counts.items() if count > 0)


def _verdict(group: SurveyedGroup, losses: tuple[GroupLoss, ...]) -> GroupVerdict:
    kinds = {loss.kind for loss in losses}
    if kinds & _UNREADABLE or (group.type is GroupType.SHARE and LossKind.GROUP in kinds):
        return GroupVerdict.UNREADABLE
    return GroupVerdict.APPEARS_EMPTY if kinds else GroupVerdict.READABLE


_UNREADABLE = {LossKind.COMMITTED_OFFSETS, LossKind.PENDING_OFFSETS, LossKind.RECORDS}
