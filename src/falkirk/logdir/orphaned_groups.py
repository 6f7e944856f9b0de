"""Tombstones, on request, for records of groups that no coordinator at the target's levels writes.

The target warns of records that it skips at every load, and they count again after an upgrade, however old they are.
Tombstones let a cleaner remove them. They are at the end of a partition's log, as if a coordinator had written them;
committed offsets get none. A group that the target would serve less well with tombstones than without gets none.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from falkirk.coordinator.prediction.group_survey import key_group, key_type
from falkirk.coordinator.prediction.groups import GroupVerdict, readable_groups
from falkirk.coordinator.records.log_entry import LoggedRecord
from falkirk.coordinator.records.record_type import PARTS, Part, record_type_name
from falkirk.coordinator.records.written_records import is_written
from falkirk.ledger.findings import Conversion, ConversionKind, LedgerWarning, WarningKind
from falkirk.logdir.group_records import coordinator_of, group_replicas
from falkirk.logdir.ledger import GroupTombstones
from falkirk.metadata.undo.undo_bundle import RemovedBatch
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.record import Record
from falkirk.storage.partition_log import read_segments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from falkirk.coordinator.prediction.groups import GroupsReadability
    from falkirk.coordinator.records.log_entry import LogEntry
    from falkirk.logdir.cluster import Cluster
    from falkirk.logdir.group_records import Replica
    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.storage.disk import Disk
    from falkirk.versions.release import Release

# A tombstone is about a hundred bytes; a batch must stay well below any max.message.bytes.
_BATCH_RECORDS_MAX: Final = 1000
# The order in which a coordinator deletes a group: references before what they refer to.
_ORDER: Final = (
    Part.CURRENT_ASSIGNMENT,
    Part.TARGET_MEMBER,
    Part.TARGET_EPOCH,
    Part.MEMBER,
    Part.SUBSCRIPTION,
    Part.REGULAR_EXPRESSION,
    Part.TOPOLOGY,
    Part.STATE_PARTITIONS,
    Part.GROUP,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanedGroup:
    """A group whose records get tombstones at these offsets of a partition, one for each key."""

    group_id: str
    partition: str
    offsets: tuple[int, ...]
    types: Mapping[int, int]
    """Number of tombstones by record type."""

    @property
    def conversion(self) -> Conversion:
        """The tombstones as a conversion."""
        return Conversion(
            kind=ConversionKind.ORPHANED_GROUP_DELETED,
            fields=msgspec.to_builtins(self.reported()),
            text=f"group {self.group_id}: {len(self.offsets)} tombstones at the end of {self.partition} for records "
            "that nothing writes any more",
        )

    def reported(self) -> GroupTombstones:
        """Return the tombstones as a ledger lists them."""
        return GroupTombstones(
            group=self.group_id,
            partition=self.partition,
            offsets=(self.offsets[0], self.offsets[-1]),
            records={record_type_name(type_): count for type_, count in sorted(self.types.items())},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstones:
    """The tombstones of a plan. `batches`: log directory -> name of a partition's directory -> batches to append.

    `orphans`: name of a partition's directory -> the batches that hold what the tombstones delete, as they are.
    """

    groups: tuple[OrphanedGroup, ...] = ()
    batches: Mapping[Path, Mapping[str, tuple[bytes, ...]]] = field(default_factory=dict)
    orphans: Mapping[str, tuple[RemovedBatch, ...]] = field(default_factory=dict)
    left_alone: tuple[LedgerWarning, ...] = ()

    def offsets(self) -> dict[str, frozenset[int]]:
        """Return the offsets of all tombstones, by name of the partition's directory."""
        found: dict[str, frozenset[int]] = {}
        for group in self.groups:
            found[group.partition] = found.get(group.partition, frozenset()) | frozenset(group.offsets)
        return found

    def of(self, log_dir: Path) -> Mapping[str, tuple[bytes, ...]]:
        """Return the batches for the partitions of a log directory."""
        return self.batches.get(log_dir, {})


def plan_tombstones(disk: Disk, cluster: Cluster, release: Release, levels: Mapping[str, int]) -> Tombstones:
    """Return the tombstones for groups that `release` leaves behind at these finalized levels.

    Raises CorruptFileError.
    """
    groups: list[OrphanedGroup] = []
    batches: dict[Path, dict[str, tuple[bytes, ...]]] = {}
    orphans: dict[str, tuple[RemovedBatch, ...]] = {}
    left_alone: list[LedgerWarning] = []
    for replicas in group_replicas(disk, cluster).values():
        ends = [_end(disk, replica) for replica in replicas]
        end = max(ends, key=lambda each: (each.leader_epoch, each.offset))
        # A replica that ends elsewhere fetches them from its leader.
        complete = [replica for replica, each in zip(replicas, ends, strict=True) if each == end]
        made = _of_partition(complete[0], end, release, levels)
        left_alone += made.left_alone
        if made.groups:
            groups += made.groups
            orphans[complete[0].name] = _batches_with(disk, complete[0], made.keys)
            for replica in complete:
                batches.setdefault(replica.log_dir.path, {})[replica.name] = made.batches
    return Tombstones(
        groups=tuple(sorted(groups, key=lambda group: group.group_id)),
        batches=batches,
        orphans=orphans,
        left_alone=tuple(left_alone),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """The end of a replica's log, with epoch and timestamp of its last batch."""

    offset: int = 0
    leader_epoch: int = -1
    timestamp: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class _PartitionTombstones:
    groups: tuple[OrphanedGroup, ...]
    batches: tuple[bytes, ...]
    keys: frozenset[bytes]
    left_alone: tuple[LedgerWarning, ...]


def _of_partition(replica: Replica, end: _End, release: Release, levels: Mapping[str, int]) -> _PartitionTombstones:
    entries = list(replica)
    keys = _orphaned_keys(entries, levels)
    kind = coordinator_of(release, replica.node)
    before = readable_groups(release, {0: entries}, kind)
    after = readable_groups(release, {0: [*entries, *_tombstones(keys, end.offset)]}, kind)
    harmed = _harmed(before, after, end.offset)
    kept = [key for key in keys if key_group(key) not in harmed]
    return _PartitionTombstones(
        groups=_groups(replica.name, kept, end.offset),
        batches=tuple(_batches(kept, end)),
        keys=frozenset(kept),
        left_alone=tuple(_left_alone(group_id, replica.name, release) for group_id in sorted(harmed)),
    )


def _left_alone(group_id: str, partition: str, release: Release) -> LedgerWarning:
    return LedgerWarning(
        kind=WarningKind.GROUP_LEFT_ALONE,
        fields={"group": group_id, "partition": partition},
        text=f"group {group_id}: Kafka {release.word} would serve it less well with tombstones at the end of "
        f"{partition} than without, so there are none",
    )


def _orphaned_keys(entries: Sequence[LogEntry], levels: Mapping[str, int]) -> list[bytes]:
    """Return the keys with a value at the end of the log whose type is not written any more, by group and part."""
    live: dict[bytes, None] = {}
    for entry in entries:
        if isinstance(entry, LoggedRecord) and entry.key is not None:
            type_ = key_type(entry.key)
            if entry.value is None:
                live.pop(entry.key, None)
            elif type_ is not None and type_ in PARTS and not is_written(type_, levels):
                live[entry.key] = None
    return sorted((key for key in live if key_group(key) is not None), key=_place)


def _place(key: bytes) -> tuple[str, int, bytes]:
    type_, group_id = key_type(key), key_group(key)
    assert type_ is not None
    assert group_id is not None
    return group_id, _ORDER.index(PARTS[type_][1]), key


def _tombstones(keys: Sequence[bytes], offset: int) -> list[LoggedRecord]:
    return [LoggedRecord(offset + at, key, None) for at, key in enumerate(keys)]


def _harmed(before: GroupsReadability, after: GroupsReadability, end_offset: int) -> set[str]:
    """Return the groups whose tombstones do harm: they do not load, or offsets are not served any more."""
    failing = {record.group_id for record in after.failing if record.offset >= end_offset}
    unreadable = {group.group_id for group in before.groups if group.verdict is GroupVerdict.UNREADABLE}
    now = {group.group_id for group in after.groups if group.verdict is GroupVerdict.UNREADABLE}
    return {group_id for group_id in failing if group_id is not None} | (now - unreadable)


def _groups(name: str, keys: Sequence[bytes], end_offset: int) -> tuple[OrphanedGroup, ...]:
    offsets: dict[str, list[int]] = {}
    types: dict[str, Counter[int]] = {}
    for at, key in enumerate(keys):
        type_, group_id = key_type(key), key_group(key)
        assert type_ is not None
        assert group_id is not None
        offsets.setdefault(group_id, []).append(end_offset + at)
        types.setdefault(group_id, Counter())[type_] += 1
    return tuple(
        OrphanedGroup(group_id=group_id, partition=name, offsets=tuple(places), types=types[group_id])
        for group_id, places in offsets.items()
    )


def _batches(keys: Sequence[bytes], end: _End) -> list[bytes]:
    return [
        build_batch(
            [
                Record(offset=end.offset + at, timestamp=end.timestamp, key=key)
                for at, key in enumerate(keys[first : first + _BATCH_RECORDS_MAX], first)
            ],
            base_offset=end.offset + first,
            leader_epoch=end.leader_epoch,
        )
        for first in range(0, len(keys), _BATCH_RECORDS_MAX)
    ]


def _end(disk: Disk, replica: Replica) -> _End:
    last: RecordBatch | None = None
    for reader in read_segments(disk, str(replica.path), check_crc=False):
        for batch in reader:
            last = batch
    if last is None:
        return _End()
    return _End(offset=last.end_offset, leader_epoch=last.leader_epoch, timestamp=last.max_timestamp)


def _batches_with(disk: Disk, replica: Replica, keys: frozenset[bytes]) -> tuple[RemovedBatch, ...]:
    """Return the batches with the newest value of each key, so that undo has them whatever a cleaner did."""
    newest: dict[bytes, int] = {}
    for entry in replica:
        if isinstance(entry, LoggedRecord) and entry.key in keys and entry.key is not None:
            newest[entry.key] = entry.offset
    wanted = frozenset(newest.values())
    found = []
    for reader in read_segments(disk, str(replica.path)):
        for batch in reader:
            held = frozenset() if batch.is_control else wanted.intersection(range(batch.base_offset, batch.end_offset))
            if held:
                found.append(RemovedBatch(data=bytes(batch.data), offsets=held))
    return tuple(found)
