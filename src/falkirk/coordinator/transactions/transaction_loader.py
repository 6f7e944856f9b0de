"""The load of one partition of `__transaction_state` into a shard, batch by batch, in log order.

    loader = TransactionLoader(shard)
    for batch in batches:
        failure = loader.apply_batch(batch)  # a LoadFailure ends the load of this partition, and of no other
    failure = exhaust(loader.finish())
    loader.unknown_types                     # types that were skipped, to be logged once per type and partition

Keys of an unknown type are skipped by every release, values of an unknown version by those from 4.3 on, and by a
tolerant shard, which reads a newer version as the highest known one. Differs from Kafka: what cannot be read otherwise
fails the partition; there the load ends silently with what was read by then, and all later transactions are forgotten.
The last record of an id is its state, so of each id only the last value is decoded, at the end: an id has three records
for each of its transactions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.runtime.load_failure import LoadFailure
from falkirk.coordinator.runtime.outcome import CoordinatorRecord
from falkirk.coordinator.transactions.transaction_rules import transaction_rules
from falkirk.parted_dict import PartedDict
from falkirk.protocol import codec
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import TransactionLogKey, TransactionLogValue
from falkirk.versions.message_layouts import layout_in

if TYPE_CHECKING:
    from collections.abc import Generator

    from falkirk.coordinator.transactions.transaction_coordinator_shard import TransactionCoordinatorShard
    from falkirk.protocol.record_batch import RecordBatch

IDS_AT_ONCE: Final = 250
"""How many ids are replayed in one slice of the end."""
_PREFIX_BYTES = 2


class TransactionLoader:
    """Loads as the shard's release does."""

    def __init__(self, shard: TransactionCoordinatorShard) -> None:
        """Begin with an empty shard. Raises IncompleteReleaseError for a release that is not in the tables."""
        release = shard.context.release
        self.record_count = 0
        # By key: offset, version and bytes of the last value.
        self._last: PartedDict[bytes, tuple[int, int, bytes]] = PartedDict()
        self.unknown_types: dict[int, int] = {}
        """The number of skipped records by type; each type is logged once, when the load ends."""
        self._shard = shard
        self._is_tolerant = shard.context.is_tolerant
        self._skips_newer_values = transaction_rules(release).skips_newer_values
        self._layout = layout_in(release, TransactionLogValue.SCHEMA.info.name)
        ((_, self._key_type),) = (TransactionLogKey.SCHEMA.info.versions.ranges[0],)
        self._value_versions = release.kraft.transaction_records[self._key_type].value_versions

    def apply_batch(self, batch: RecordBatch) -> LoadFailure | None:
        """Apply all of a batch. Raises RemoteProtocolError if its records do not parse."""
        if batch.is_control:
            return None
        base_offset = batch.base_offset
        records = batch.key_values()
        for delta, key, value in records:
            try:
                self._apply(key, value, base_offset + delta)
            except (RemoteProtocolError, ValueError) as error:
                return LoadFailure(base_offset + delta, str(error))
        self.record_count += len(records)
        return None

    def finish(self) -> Generator[None, None, LoadFailure | None]:
        """Replay the last record of each id; return the failure of one that does not parse."""
        number = 0
        for part in self._last.parts():
            # To free a million of them at once is a long step.
            while part:
                key, (offset, version, value) = part.popitem()
                try:
                    transaction_key = codec.decode_prefix(TransactionLogKey, 0, key, _PREFIX_BYTES)[0]
                    decoded = codec.decode_prefix(
                        TransactionLogValue, version, value, _PREFIX_BYTES, layout=self._layout
                    )[0]
                    self._shard.replay_loaded(CoordinatorRecord(transaction_key, decoded, version))
                except (RemoteProtocolError, ValueError) as error:
                    return LoadFailure(offset, str(error))
                number += 1
                if number % IDS_AT_ONCE == 0:
                    yield
        return None

    def _apply(self, key: bytes | None, value: bytes | None, offset: int) -> None:
        if key is None or len(key) < _PREFIX_BYTES:
            raise RemoteProtocolError("a record without a key", offset=0)
        type_ = int.from_bytes(key[:_PREFIX_BYTES], signed=True)
        if type_ != self._key_type:
            self.unknown_types[type_] = self.unknown_types.get(type_, 0) + 1
            return
        if value is None:
            self._last.pop(key)
            return
        version = int.from_bytes(value[:_PREFIX_BYTES], signed=True)
        known = self._value_versions
        if self._is_tolerant:
            version = min(version, known.highest)
        if not known.lowest <= version <= known.highest:
            if self._skips_newer_values:
                return
            raise ValueError(f"transaction log value has no version {version}, only {known}")
        self._last[key] = offset, version, value
