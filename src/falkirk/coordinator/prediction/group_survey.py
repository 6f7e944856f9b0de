"""The groups in the records of one partition of `__consumer_offsets`, whatever release may read them.

The last record of each key counts, as after a complete compaction. Keys are almost enough: each begins with its type
and the group, and a member's metadata record stands for a member. Only a classic group's one value is decoded, whose
layout never changed.
"""

from __future__ import annotations

import functools
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.prediction.offsets import Offsets, Partition
from falkirk.coordinator.prediction.readability import group_record_reader
from falkirk.coordinator.records.loader_rules import loader_rules
from falkirk.coordinator.records.log_entry import TransactionEnd
from falkirk.coordinator.records.offset_commit import offset_key
from falkirk.coordinator.records.record_type import OFFSET_TYPES, PARTS, GroupRecordType, GroupType, Part
from falkirk.protocol.lax_reader import ReadError, decoded
from falkirk.protocol.record_batch import NO_PRODUCER_ID
from falkirk.slices import SliceBudget, exhaust
from falkirk.versions.release import latest_release

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from falkirk.coordinator.prediction.readability import RecordReader
    from falkirk.coordinator.records.log_entry import LogEntry, LoggedRecord
    from falkirk.slices import Slices


_INT16: Final = struct.Struct(">h")
_OFFSET_KEYS: Final = (b"\x00\x01", b"\x00\x00")
_OTHER_TYPES: Final = OFFSET_TYPES | {GroupRecordType.GROUP_METADATA}
# In place of a count of members: an empty classic group without a protocol type is a simple one.
_SIMPLE: Final = -1
_VISITS_PER_GROUP: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedGroup:
    """A group as its records define it; with `members` 0 it is empty."""

    type: GroupType
    members: int
    member_ids: tuple[str, ...]
    """Sorted; empty for a classic group, whose keys do not name members."""
    committed: frozenset[Partition]
    pending: frozenset[Partition]
    """Partitions with an offset in a transaction that is still open at the end of the log."""


class GroupSurvey:
    """Reads the entries of a partition in log order, then returns its groups."""

    def __init__(self) -> None:
        self._offsets = Offsets()
        # Group -> key -> (record type, members); only what was not deleted.
        self._records: dict[str, dict[bytes, tuple[int, int]]] = {}

    def add(self, entry: LogEntry) -> None:
        """Add an entry; records whose keys do not begin like those of groups are ignored."""
        if isinstance(entry, TransactionEnd):
            self._offsets.end_transaction(entry.producer_id, is_commit=entry.is_commit)
            return
        key = entry.key
        if key is None:
            return
        if key[:2] in _OFFSET_KEYS:
            parts = offset_key(key)
            if parts is not None:
                self._add_offset(decoded(parts[0]), parts[1], entry)
            return
        type_ = key_type(key)
        group_id = key_group(key)
        if type_ is None or group_id is None:
            return
        # The newest record comes last: it has the type of a group that changed it.
        records = self._records.setdefault(group_id, {})
        records.pop(key, None)
        if entry.value is not None:
            records[key] = type_, _members(type_, entry.value)

    def groups(self) -> dict[str, SurveyedGroup]:
        """Return the groups with any offset or record that was not deleted."""
        return exhaust(self.groups_in_slices())

    def groups_in_slices(self) -> Slices[dict[str, SurveyedGroup]]:
        """Return the same in slices of bounded size; nothing may be added meanwhile."""
        pending, budget = self._offsets.pending_by_group(), SliceBudget()
        found = {}
        for group_id in sorted({*self._records, *self._offsets.committed, *pending}):
            group = self.group(group_id, pending)
            if group is not None:
                found[group_id] = group
                if budget.spend(_VISITS_PER_GROUP + len(group.member_ids) + len(group.committed)):
                    yield
        return found

    def group(self, group_id: str, pending: Mapping[str, set[Partition]]) -> SurveyedGroup | None:
        """Return one group; None if there is none. `pending`: what `pending_by_group` returns."""
        by_key = self._records.get(group_id, {})
        records = list(by_key.values())
        committed = self._offsets.committed_by(group_id)
        waiting = pending.get(group_id, set())
        if not (records or committed or waiting):
            return None
        group_type, members = _type_and_members(records)
        return SurveyedGroup(
            type=group_type,
            members=members,
            member_ids=tuple(sorted(_member_ids(by_key, group_type))),
            committed=frozenset(committed),
            pending=frozenset(waiting),
        )

    @property
    def offsets(self) -> Offsets:
        """The offsets of all groups; for reading."""
        return self._offsets

    def _add_offset(self, group_id: str, partition: Partition, entry: LoggedRecord) -> None:
        if entry.value is None:
            self._offsets.delete(group_id, partition)
        else:
            producer_id = None if entry.producer_id == NO_PRODUCER_ID else entry.producer_id
            self._offsets.commit(group_id, partition, producer_id)


def key_type(key: bytes | None) -> int | None:
    """Return the type with which a key begins; None if there is none."""
    return None if key is None or len(key) < 2 else int(_INT16.unpack_from(key)[0])


def key_group(key: bytes | None) -> str | None:
    """Return the group in a key of any known type; None where it does not parse."""
    type_ = key_type(key)
    if key is None or len(key) < 4 or (type_ not in PARTS and type_ not in _OTHER_TYPES):
        return None
    return _text(key, 2)


def _text(key: bytes, position: int) -> str | None:
    """Return the length-prefixed string at a position; None where there is none."""
    start = position + 2
    if start > len(key):
        return None
    length = int(_INT16.unpack_from(key, position)[0])
    return decoded(key[start : start + length]) if 0 <= length <= len(key) - start else None


def _member_ids(records: dict[bytes, tuple[int, int]], group_type: GroupType) -> Iterator[str]:
    """Yield the members of a group: each has a record whose key names it after the group."""
    for key, (type_, _) in records.items():
        if PARTS.get(type_) == (group_type, Part.MEMBER):
            member_id = _text(key, 4 + int(_INT16.unpack_from(key, 2)[0]))
            if member_id is not None:
                yield member_id


def _members(type_: int, value: bytes) -> int:
    if type_ != GroupRecordType.GROUP_METADATA:
        return 1 if PARTS[type_][1] is Part.MEMBER else 0
    try:
        group = _newest_reader().decode_value(type_, value)
    except ReadError:
        return 0
    if not group["members"] and not group["protocol_type"]:
        return _SIMPLE
    return len(group["members"])


@functools.cache
def _newest_reader() -> RecordReader:
    release = latest_release()
    return group_record_reader(release, loader_rules(release))


def _type_and_members(records: list[tuple[int, int]]) -> tuple[GroupType, int]:
    if not records:
        return GroupType.SIMPLE, 0
    last_type, last_members = records[-1]
    if last_type == GroupRecordType.GROUP_METADATA:
        return (GroupType.SIMPLE, 0) if last_members == _SIMPLE else (GroupType.CLASSIC, last_members)
    group_type = PARTS[last_type][0]
    members = sum(number for type_, number in records if type_ in PARTS and PARTS[type_][0] is group_type)
    return group_type, members
