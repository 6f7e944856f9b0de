"""The load of one partition of `__consumer_offsets` by a release's coordinator, simulated record by record.

    load = PartitionLoad(Release.parse("4.0"))
    for entry in log_entries(batches):
        verdict = load.replay(entry)          # FAILS: the load continues as if the record were not there
    for offset, reason in load.finish(): ...

Offset commits are handled as bytes; of other records only what later ones are checked against is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.coordinator.prediction.classic_group import ClassicGroup, load_classic_group
from falkirk.coordinator.prediction.modern_group import ModernGroup
from falkirk.coordinator.prediction.offsets import Offsets
from falkirk.coordinator.prediction.readability import UnknownTypeError, group_record_reader
from falkirk.coordinator.prediction.replay_error import ReplayError
from falkirk.coordinator.prediction.value_checks import check_value
from falkirk.coordinator.prediction.verdict import READ, SKIPPED, Verdict, fails
from falkirk.coordinator.records.loader_rules import CoordinatorKind, loader_rules, tolerant_rules
from falkirk.coordinator.records.log_entry import LoggedRecord, TransactionEnd
from falkirk.coordinator.records.offset_commit import is_plain_offset_value, offset_key
from falkirk.coordinator.records.record_type import OFFSET_TYPES, PARTS, GroupType, Part
from falkirk.protocol.lax_reader import ReadError, decoded
from falkirk.protocol.record_batch import NO_PRODUCER_ID

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from falkirk.coordinator.prediction.readability import DecodedRecord
    from falkirk.coordinator.records.log_entry import LogEntry
    from falkirk.protocol.lax_reader import Fields
    from falkirk.versions.release import Release


_OFFSET_COMMIT: Final = b"\x00\x01"
_FOUNDING_PARTS: Final = (Part.GROUP, Part.MEMBER)
_SIMPLE_GROUP: Final = ClassicGroup()
_NO_STOPS: Final[list[tuple[int, str]]] = []


class LoadedGroup(NamedTuple):
    """A group as the release has it after the load."""

    type: GroupType
    members: int


class PartitionLoad:
    """One partition while one release's coordinator loads it. Entries come in log order."""

    def __init__(
        self,
        release: Release,
        kind: CoordinatorKind | None = None,
        *,
        without: Container[int] = frozenset(),
        is_tolerant: bool = False,
    ) -> None:
        """Begin with nothing loaded; records at the offsets in `without` count as removed.

        `is_tolerant`: as the release would load with KIP-915 in it, see `tolerant_rules`.
        Raises IncompleteReleaseError for a release whose coordinator is not in the tables.
        """
        rules = loader_rules(release, kind)
        self.rules = tolerant_rules(rules) if is_tolerant else rules
        self.offsets = Offsets(tombstones_end_pending=self.rules.tombstones_end_pending_offsets)
        self._reader = group_record_reader(release, self.rules, reads_newer_versions=is_tolerant)
        self._groups: dict[str, ClassicGroup | ModernGroup] = {}
        self._deleted_at: dict[str, int] = {}
        self._without = without
        self._is_old = self.rules.kind is CoordinatorKind.OLD
        self._is_tolerant = is_tolerant

    def replay(self, entry: LogEntry) -> Verdict:
        """Replay an entry and return its verdict; one that fails changes nothing."""
        if isinstance(entry, TransactionEnd):
            self.offsets.end_transaction(entry.producer_id, is_commit=entry.is_commit)
            return READ
        key, value = entry.key, entry.value
        if key is not None and key[:2] == _OFFSET_COMMIT and (value is None or is_plain_offset_value(value)):
            parts = offset_key(key)
            if parts is not None:
                self._replay_offset(decoded(parts[0]), parts[1], entry)
                return READ
        try:
            self.apply(self.decode(entry), entry)
        except UnknownTypeError:
            return SKIPPED
        except ReadError as error:
            return fails(str(error))
        except ReplayError as replay_error:
            return fails(str(replay_error))
        return READ

    def decode(self, entry: LoggedRecord) -> DecodedRecord:
        """Decode a record as the release does. Raises ReadError, and UnknownTypeError for a record that it skips."""
        return self._reader.decode(entry.key, entry.value)

    def apply(self, record: DecodedRecord, entry: LoggedRecord) -> None:
        """Replay a record that `decode` returned. Raises ReplayError without having changed anything."""
        type_, key, value = record.type, record.key, record.value
        if type_ in self.rules.refused_types:
            raise ReplayError("this release reads records of this type, but has no replay for them")
        if entry.offset in self._without:
            return
        if type_ in OFFSET_TYPES:
            parts = offset_key(entry.key or b"")
            assert parts is not None, "the reader took the key"
            self._replay_offset(key["group"], parts[1], entry)
        elif type_ in PARTS:
            group_type, part = PARTS[type_]
            self._replay_part(group_type, part, key, value, entry.offset)
        elif value is None:
            self._delete(key["group"], entry.offset)
        else:
            self._groups[key["group"]] = load_classic_group(value, self.rules)

    def hold_offsets(self, group_id: str) -> None:
        """Record that a group has an offset, committed or pending, as later records are checked against that.

        For callers that store offsets themselves and do not replay them here.
        """
        if not self._is_old and group_id not in self._groups:
            self._groups[group_id] = _SIMPLE_GROUP

    def is_made_by_offsets(self, group_id: str) -> bool:
        """Return whether a group has no records except those of offsets."""
        return self._groups.get(group_id) is _SIMPLE_GROUP

    def type_of(self, group_id: str) -> GroupType | None:
        """Return the type of an existing group; a SIMPLE one may have a record."""
        group = self._groups.get(group_id)
        return None if group is None else _loaded(group).type

    def finish(self) -> list[tuple[int, str]]:
        """Return the records (offset and reason) at which the coordinator stops after it has replayed them all.

        To predict the load without them, load again: an older record may come to count.
        """
        return [stop for stops in self.stops_by_group() for stop in stops]

    def stops_by_group(self) -> Iterator[list[tuple[int, str]]]:
        """Yield what `finish` returns group by group: for most there is nothing."""
        if self._is_tolerant:
            return
        for group in self._groups.values():
            yield _stops(group) if isinstance(group, ModernGroup) else _NO_STOPS

    def groups(self) -> dict[str, LoadedGroup]:
        """Return the groups that the coordinator has now; offsets of other groups are not served.

        The old coordinator, and a tolerant one, also have groups that only hold offsets, committed or pending.
        """
        groups = {group_id: _loaded(group) for group_id, group in self._groups.items()}
        if self._is_old or self._is_tolerant:
            for group_id in (*self.offsets.committed, *self.offsets.pending_by_group()):
                groups.setdefault(group_id, _SIMPLE)
        return groups

    def group(self, group_id: str) -> LoadedGroup | None:
        """Return one of `groups`; None if the coordinator does not have it."""
        group = self._groups.get(group_id)
        if group is not None:
            return _loaded(group)
        if not (self._is_old or self._is_tolerant):
            return None
        has_offsets = group_id in self.offsets.committed or any(
            group_id in groups for groups in self.offsets.pending.values()
        )
        return _SIMPLE if has_offsets else None

    def has_offset(self, group_id: str, partition: bytes) -> bool:
        """Return whether a committed offset of a partition is held, so that to commit another one changes nothing."""
        return partition in self.offsets.committed_by(group_id) and (self._is_old or group_id in self._groups)

    def stops_of(self, group_id: str) -> list[tuple[int, str]]:
        """Return those of `finish` that are of one group."""
        group = self._groups.get(group_id)
        return _stops(group) if isinstance(group, ModernGroup) and not self._is_tolerant else _NO_STOPS

    def deleted_at(self, group_id: str) -> int | None:
        """Return the offset of the tombstone that last deleted a group which does not exist."""
        return None if group_id in self._groups else self._deleted_at.get(group_id)

    def _replay_offset(self, group_id: str, partition: bytes, entry: LoggedRecord) -> None:
        if entry.offset in self._without:
            return
        if self._is_old:
            producer_id = entry.producer_id if entry.is_transactional else None
            if entry.value is None and producer_id is not None:
                self.offsets.delete_pending(group_id, partition, producer_id)
                return
        else:
            producer_id = None if entry.producer_id == NO_PRODUCER_ID else entry.producer_id
        if entry.value is None:
            self.offsets.delete(group_id, partition)
            return
        self.offsets.commit(group_id, partition, producer_id)
        self.hold_offsets(group_id)

    def _replay_part(self, group_type: GroupType, part: Part, key: Fields, value: Fields | None, offset: int) -> None:
        group_id = key["group_id"]
        any_value_makes = (
            self.rules.any_value_makes_share_group
            if group_type is GroupType.SHARE
            else self.rules.any_value_makes_consumer_group
        )
        makes_group = value is not None and (any_value_makes or part in _FOUNDING_PARTS)
        if value is not None:
            check_value(group_type, part, value, self.rules)
        group = self._group(group_id, group_type, makes_group=makes_group)
        if group is None:
            if any_value_makes:
                return
            raise ReplayError(f"there is no {group_type} group {group_id}")
        if part is Part.GROUP and value is None:
            if self.rules.checks_removals:
                group.check_removal()
            self._delete(group_id, offset)
            return
        member_id = key.get("member_id", "")
        group.replay(part, member_id, value, offset=offset, any_value_makes_member=any_value_makes)
        # Only now: a group that a failing record would have made is not there.
        self._groups[group_id] = group

    def _delete(self, group_id: str, offset: int) -> None:
        if self._groups.pop(group_id, None) is not None:
            self._deleted_at[group_id] = offset

    def _group(self, group_id: str, group_type: GroupType, *, makes_group: bool) -> ModernGroup | None:
        group = self._groups.get(group_id)
        if group is None:
            return ModernGroup(group_type, self.rules) if makes_group else None
        if isinstance(group, ModernGroup) and group.type is group_type:
            return group
        if isinstance(group, ClassicGroup) and group.is_simple and group_type in self.rules.simple_groups_become:
            converts = makes_group or self.rules.tombstones_convert_simple_groups
            return ModernGroup(group_type, self.rules) if converts else None
        raise ReplayError(f"group {group_id} is there, but is no {group_type} group")


_SIMPLE: Final = LoadedGroup(GroupType.SIMPLE, 0)


def _stops(group: ModernGroup) -> list[tuple[int, str]]:
    return [
        (member.assigned_at, f"member {member_id} has tasks to revoke, but no timeout to do it in")
        for member_id, member in group.stuck_members()
    ]


def _loaded(group: ClassicGroup | ModernGroup) -> LoadedGroup:
    if isinstance(group, ModernGroup):
        return LoadedGroup(group.type, len(group.members))
    return _SIMPLE if group.is_simple else LoadedGroup(GroupType.CLASSIC, group.members)
