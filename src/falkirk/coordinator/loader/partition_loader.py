"""The load of one partition of `__consumer_offsets` into a shard, entry by entry.

    loader = PartitionLoader(shard)
    for batch in batches:
        failure = loader.apply_batch(batch)  # a LoadFailure ends the load of this partition, and of no other
    failure = exhaust(loader.finish())
    loader.unknown_types                    # types that were skipped, to be logged once per type and partition
    outcome = exhaust(shard.loaded())

`coordinator.prediction` decides what a release cannot load, here as everywhere: a PartitionLoad judges each record
before the shard gets it. Offset commits, the bulk of the topic, are judged and kept as bytes.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.loader.record_decoder import RecordDecoder
from falkirk.coordinator.offsets.offset_records import EXPIRING_VERSION, NO_EXPIRY, offset_value_bytes
from falkirk.coordinator.prediction.group_survey import key_type
from falkirk.coordinator.prediction.loading import PartitionLoad
from falkirk.coordinator.prediction.readability import UnknownTypeError
from falkirk.coordinator.prediction.replay_error import ReplayError
from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.coordinator.records.log_entry import LoggedRecord, TransactionEnd, log_entries
from falkirk.coordinator.records.offset_commit import is_plain_offset_value, offset_key
from falkirk.coordinator.records.record_type import OFFSET_TYPES, GroupType
from falkirk.coordinator.runtime.load_failure import LoadFailure
from falkirk.coordinator.shard.foreign_group import ForeignGroup
from falkirk.coordinator.shard.group_coordinator_shard import GROUPS_AT_ONCE
from falkirk.protocol.lax_reader import ReadError
from falkirk.protocol.messages import OffsetCommitValue
from falkirk.protocol.record_batch import NO_PRODUCER_ID

if TYPE_CHECKING:
    from collections.abc import Generator

    from falkirk.coordinator.prediction.readability import DecodedRecord
    from falkirk.coordinator.records.log_entry import LogEntry
    from falkirk.coordinator.shard.group_coordinator_shard import GroupCoordinatorShard
    from falkirk.protocol.record_batch import RecordBatch


_OFFSET_COMMIT: Final = b"\x00\x01"
_OFFSET_KEYS_MAX: Final = 1 << 17
_KEYS_FREED_AT_ONCE: Final = 10_000
_FOREIGN: Final = (GroupType.SHARE, GroupType.STREAMS)
_VERSION_WITH_ALL: Final = 4


class PartitionLoader:
    """Loads as the shard's release does; with `ShardContext.is_tolerant`, as KIP-915 asks."""

    def __init__(self, shard: GroupCoordinatorShard) -> None:
        """Begin with an empty shard. Raises IncompleteReleaseError for a release that is not in the tables."""
        context = shard.context
        self.record_count = 0
        self.unknown_types: dict[int, int] = {}
        """The number of skipped records by type; each type is logged once, when the load ends."""
        self._shard = shard
        self._context = context
        self._is_old = context.kind is CoordinatorKind.OLD
        self._judge = PartitionLoad(context.release, context.kind, is_tolerant=context.is_tolerant)
        self._decoder = RecordDecoder(context.release)
        self._groups = context.groups
        self._commit = shard.offsets.store.commit
        # Keys of offsets, split: most are committed again and again.
        self._offset_keys: dict[bytes, tuple[str, bytes]] = {}
        self._retired_keys: dict[bytes, tuple[str, bytes]] = {}

    def apply_batch(self, batch: RecordBatch) -> LoadFailure | None:
        """Apply all of a batch; batches come in log order. Raises RemoteProtocolError if its records do not parse."""
        if batch.is_control or batch.producer_id != NO_PRODUCER_ID:
            for entry in log_entries([batch]):
                failure = self.apply(entry)
                if failure is not None:
                    return failure
                self.record_count += 1
            return None
        base_offset, is_transactional = batch.base_offset, batch.is_transactional
        records = batch.key_values()
        split, groups, commit = self._offset_keys, self._groups, self._commit
        for delta, key, value in records:
            if key is not None and value is not None:
                parts = split.get(key) or self._split(key)
                if parts is not None and parts[0] in groups and is_plain_offset_value(value):
                    # All but a few records of a large partition end here.
                    commit(parts[0], parts[1], value, base_offset + delta)
                    continue
            failure = self.apply(LoggedRecord(base_offset + delta, key, value, NO_PRODUCER_ID, is_transactional))
            if failure is not None:
                return failure
        self.record_count += len(records)
        return None

    def apply(self, entry: LogEntry) -> LoadFailure | None:
        """Apply an entry; entries come in log order. After a failure the shard must not be used."""
        if isinstance(entry, TransactionEnd):
            self._shard.end_transaction(entry.producer_id, is_commit=entry.is_commit)
            return None
        key, value = entry.key, entry.value
        if key is not None and (value is None or is_plain_offset_value(value)):
            parts = self._split(key)
            if parts is not None:
                self._apply_offset(*parts, value, entry)
                return None
        try:
            record = self._judge.decode(entry)
            self._judge.apply(record, entry)
        except UnknownTypeError:
            type_ = key_type(key)
            assert type_ is not None, "it has a key, and a type that is not known"
            self.unknown_types[type_] = self.unknown_types.get(type_, 0) + 1
            return None
        except (ReadError, ReplayError) as error:
            return LoadFailure(entry.offset, str(error))
        self._replay(record, entry)
        return None

    def finish(self) -> Generator[None, None, LoadFailure | None]:
        """Return the failure at which the coordinator stops after the last entry; None: the shard is as the log has it.

        It yields after so many groups that a node can do something else.
        Groups created by offsets alone that have none left are removed: a cleaned log has no trace of them.
        Differs from Kafka: there they stay until offsets expire for the next time.
        """
        yield from self._free_keys()
        for number, stops in enumerate(self._judge.stops_by_group(), 1):
            if stops:
                return LoadFailure(*stops[0])
            if number % GROUPS_AT_ONCE == 0:
                yield
        if self._is_old or self._context.is_tolerant:
            yield from self._make_groups()
        yield from self._remove_groups()
        return None

    def _free_keys(self) -> Generator[None, None, None]:
        for keys in (self._offset_keys, self._retired_keys):
            while keys:
                for _ in range(min(len(keys), _KEYS_FREED_AT_ONCE)):
                    keys.popitem()
                if keys:
                    yield

    def _make_groups(self) -> Generator[None, None, None]:
        """Make the groups that have offsets alone."""
        store, groups = self._shard.offsets.store, self._context.groups
        for number, group_id in enumerate(chain(store.committed, store.groups_with_pending()), 1):
            if group_id not in groups:
                groups[group_id] = ClassicGroup(group_id, now_ms=self._context.now_ms)
            if number % GROUPS_AT_ONCE == 0:
                yield

    def _remove_groups(self) -> Generator[None, None, None]:
        """Remove the groups that offsets made, and that have none left. Nothing else changes groups during a load."""
        groups, gone = self._context.groups, []
        for number, (group_id, group) in enumerate(groups.items(), 1):
            if group.is_empty and not self._holds_offsets(group_id) and self._has_no_record(group_id):
                gone.append(group_id)
            if number % GROUPS_AT_ONCE == 0:
                yield
        for number, group_id in enumerate(gone, 1):
            del groups[group_id]
            if number % GROUPS_AT_ONCE == 0:
                yield

    def _holds_offsets(self, group_id: str) -> bool:
        store = self._shard.offsets.store
        return group_id in store.committed or store.has_open_transactions(group_id)

    def _has_no_record(self, group_id: str) -> bool:
        return self._judge.type_of(group_id) is None or self._judge.is_made_by_offsets(group_id)

    def _split(self, key: bytes) -> tuple[str, bytes] | None:
        """Return group and position of an offset's key; None for other keys, and keys that do not parse."""
        parts = offset_key(key) if key[:2] == _OFFSET_COMMIT else None
        if parts is None:
            return None
        if len(self._offset_keys) >= _OFFSET_KEYS_MAX:
            self._retired_keys, self._offset_keys = self._offset_keys, {}
        if self._retired_keys:
            # One for each new one: to free all of them would be a long step.
            self._retired_keys.popitem()
        found = self._offset_keys[key] = str(parts[0], "utf-8", "replace"), parts[1]
        return found

    def _apply_offset(self, group_id: str, position: bytes, value: bytes | None, entry: LoggedRecord) -> None:
        producer_id: int | None = entry.producer_id
        if producer_id == NO_PRODUCER_ID or (self._is_old and not entry.is_transactional):
            producer_id = None
        elif value is None and self._is_old:
            # To the old coordinator even a tombstone is part of its transaction.
            self._shard.offsets.store.delete_pending(group_id, position, entry.producer_id)
            return
        if value is not None and group_id not in self._context.groups:
            self._judge.hold_offsets(group_id)
        self._shard.replays.replay_offset(group_id, position, value, log_offset=entry.offset, producer_id=producer_id)

    def _replay(self, record: DecodedRecord, entry: LoggedRecord) -> None:
        if record.type in OFFSET_TYPES:
            parts = offset_key(entry.key or b"")
            assert parts is not None, "it was read"
            self._apply_offset(record.key["group"], parts[1], _offset_value(record), entry)
            return
        replayed = self._decoder.decode(record, entry)
        self._shard.replays.replay(replayed)
        if not self._context.is_tolerant:
            self._agree(record.key.get("group_id") or record.key.get("group", ""))

    def _agree(self, group_id: str) -> None:
        """Bring the group in line with the release's, where tombstones alone create or remove one in Kafka."""
        type_, groups = self._judge.type_of(group_id), self._context.groups
        group = groups.get(group_id)
        if type_ is None:
            groups.pop(group_id, None)
        elif type_ is GroupType.CONSUMER and not isinstance(group, ConsumerGroup):
            first_epoch = self._context.settings.new_consumer_group_epoch
            groups[group_id] = ConsumerGroup(group_id, first_epoch=first_epoch)
        elif type_ in _FOREIGN and (group is None or group.type is not type_):
            groups[group_id] = ForeignGroup(group_id, type_)


def _offset_value(record: DecodedRecord) -> bytes | None:
    """Encode an offset value that Kafka reads, but would not have written like that, in its usual form."""
    if record.value is None:
        return None
    value = OffsetCommitValue(**record.value)
    if value.expire_timestamp != NO_EXPIRY:
        return offset_value_bytes(value, EXPIRING_VERSION)
    return offset_value_bytes(value, _VERSION_WITH_ALL)
