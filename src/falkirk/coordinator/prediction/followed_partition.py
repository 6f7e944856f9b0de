"""One partition of `__consumer_offsets` as it grows, judged for several releases: each change judges its groups alone.

The result is that of `readable_groups` on the same entries, with one difference: a record at which the coordinator
stops after all others is not loaded without (see `PartitionLoad.finish`), so that an older one of its key does not
count again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.prediction.group_survey import GroupSurvey, key_group
from falkirk.coordinator.prediction.groups import FailingRecord, GroupReadability, failing_record, judge_group
from falkirk.coordinator.prediction.loading import PartitionLoad
from falkirk.coordinator.records.log_entry import LoggedRecord, TransactionEnd
from falkirk.coordinator.records.offset_commit import is_plain_offset_value, offset_key
from falkirk.coordinator.records.record_type import GroupRecordType
from falkirk.protocol.lax_reader import decoded
from falkirk.protocol.record_batch import NO_PRODUCER_ID

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.coordinator.records.log_entry import LogEntry
    from falkirk.versions.release import Release

_OFFSET_COMMIT: Final = b"\x00\x01"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedGroup:
    """A group that may have changed; all releases in the order in which they were given.

    `readable` is None for a group that is gone; `failing`: its records that end the load. `since_offset` and
    `since_timestamp_ms`: of the first entry about it since it was judged before.
    """

    group_id: str | None
    readable: tuple[GroupReadability, ...] | None
    failing: tuple[tuple[FailingRecord, ...], ...]
    since_offset: int
    since_timestamp_ms: int


class FollowedPartition:
    """The groups of one partition. Entries come in log order."""

    def __init__(self, partition: int, releases: Sequence[Release]) -> None:
        self.partition = partition
        self._survey = GroupSurvey()
        self._loads = tuple(PartitionLoad(release) for release in releases)
        # By group; None: records whose key names none.
        self._failing: tuple[dict[str | None, list[FailingRecord]], ...] = tuple({} for _ in releases)
        # Group -> offset and timestamp of the first entry since it was judged.
        self._changed: dict[str | None, tuple[int, int]] = {}

    def add(self, entry: LogEntry, timestamp_ms: int) -> None:
        """Add an entry; `timestamp_ms` is that of its batch."""
        if isinstance(entry, TransactionEnd):
            self._end_transaction(entry, timestamp_ms)
            return
        if self._changes_nothing(entry):
            return
        group_id = key_group(entry.key)
        for load, failing in zip(self._loads, self._failing, strict=True):
            verdict = load.replay(entry)
            if verdict.fails:
                record = failing_record(self.partition, entry, verdict.reason)
                failing.setdefault(record.group_id, []).append(record)
        self._survey.add(entry)
        self._changed.setdefault(group_id, (entry.offset, timestamp_ms))

    def judge(self) -> Iterator[JudgedGroup]:
        """Judge the groups that have changed since the last call."""
        changed, self._changed = self._changed, {}
        if not changed:
            return
        waiting = self._survey.offsets.pending_by_group()
        pending = [load.offsets.pending_by_group() for load in self._loads]
        for group_id, (offset, timestamp_ms) in changed.items():
            failing = tuple(
                (*failing.get(group_id, ()), *self._stops(load, group_id))
                for load, failing in zip(self._loads, self._failing, strict=True)
            )
            surveyed = None if group_id is None else self._survey.group(group_id, waiting)
            readable = None
            if surveyed is not None and group_id is not None:
                readable = tuple(
                    judge_group(self.partition, group_id, surveyed, load, of_load, len(of_group))
                    for load, of_load, of_group in zip(self._loads, pending, failing, strict=True)
                )
            yield JudgedGroup(
                group_id=group_id,
                readable=readable,
                failing=failing,
                since_offset=offset,
                since_timestamp_ms=timestamp_ms,
            )

    def _changes_nothing(self, entry: LoggedRecord) -> bool:
        """Return whether an entry commits an offset anew, as almost all do."""
        key, value = entry.key or b"", entry.value
        if key[:2] != _OFFSET_COMMIT or entry.producer_id != NO_PRODUCER_ID or value is None:
            return False
        parts = offset_key(key) if is_plain_offset_value(value) else None
        if parts is None:
            return False
        group_id, partition = decoded(parts[0]), parts[1]
        return partition in self._survey.offsets.committed_by(group_id) and all(
            load.has_offset(group_id, partition) for load in self._loads
        )

    def _end_transaction(self, entry: TransactionEnd, timestamp_ms: int) -> None:
        for offsets in (self._survey.offsets, *(load.offsets for load in self._loads)):
            for group_id in offsets.pending.get(entry.producer_id, ()):
                self._changed.setdefault(group_id, (entry.offset, timestamp_ms))
        for load in self._loads:
            load.replay(entry)
        self._survey.add(entry)

    def _stops(self, load: PartitionLoad, group_id: str | None) -> list[FailingRecord]:
        if group_id is None:
            return []
        return [
            FailingRecord(
                partition=self.partition,
                offset=offset,
                type=GroupRecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT,
                group_id=group_id,
                is_tombstone=False,
                reason=reason,
            )
            for offset, reason in load.stops_of(group_id)
        ]
