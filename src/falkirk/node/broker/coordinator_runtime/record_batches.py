"""Batches of a coordinator's topic from a shard's records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.coordinator.offsets.offset_records import offset_key_bytes, offset_value_bytes
from falkirk.coordinator.runtime.outcome import KeyAndValue
from falkirk.protocol.batch_builder import assemble_batch, build_batch
from falkirk.protocol.compression import Compression, compress
from falkirk.protocol.control_record import ControlRecordType, encode_control_record
from falkirk.protocol.coordinator_record import encode_key, encode_value
from falkirk.protocol.messages import EndTxnMarker, OffsetCommitKey, OffsetCommitValue
from falkirk.protocol.record import Record, encode_key_value
from falkirk.protocol.record_batch import (
    HEADER_BYTES,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TRANSACTIONAL_BIT,
)
from falkirk.versions.message_layouts import layout_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.coordinator.runtime.outcome import CoordinatorRecord, Producer
    from falkirk.versions.release import Release


class RecordEncoder:
    """Encodes records as a release does."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._layouts: dict[str, int | None] = {}

    def encode(self, records: Sequence[CoordinatorRecord]) -> list[KeyAndValue]:
        """Return keys and values as bytes."""
        return [self._encode(record) for record in records]

    def _encode(self, record: CoordinatorRecord) -> KeyAndValue:
        value = record.value
        if isinstance(value, OffsetCommitValue):
            # Most records by far; the codec is several times slower.
            assert isinstance(record.key, OffsetCommitKey), "an offset's value has an offset's key"
            return KeyAndValue(offset_key_bytes(record.key), offset_value_bytes(value, record.version))
        if value is None:
            return KeyAndValue(encode_key(record.key), None)
        name = value.SCHEMA.info.name
        if name not in self._layouts:
            self._layouts[name] = layout_in(self._release, name)
        return KeyAndValue(encode_key(record.key), encode_value(value, record.version, layout=self._layouts[name]))


class PendingBatch:
    """Records of one batch, all with the same timestamp. `size`: of the batch before compression."""

    def __init__(self, compression: Compression = Compression.NONE) -> None:
        self._compression = compression
        self._bodies: list[bytes] = []
        self.size = HEADER_BYTES

    def __len__(self) -> int:
        return len(self._bodies)

    def bodies(self, records: Sequence[KeyAndValue]) -> list[bytes]:
        """Return these records as they would be encoded at the end of the batch."""
        first = len(self._bodies)
        return [encode_key_value(at, record.key, record.value) for at, record in enumerate(records, first)]

    def add(self, bodies: Sequence[bytes]) -> None:
        """Append the result of the last call of `bodies`."""
        self._bodies += bodies
        self.size += sum(map(len, bodies))

    def build(self, now_ms: int, producer: Producer | None = None) -> bytes:
        """Return the batch, part of the producer's transaction if there is one, and start a new one."""
        count = len(self._bodies)
        data = compress(self._compression, b"".join(self._bodies))
        self._bodies, self.size = [], HEADER_BYTES
        return assemble_batch(
            data,
            base_offset=0,
            last_offset_delta=count - 1,
            leader_epoch=NO_LEADER_EPOCH,
            attributes=self._compression | (TRANSACTIONAL_BIT if producer is not None else 0),
            base_timestamp=now_ms,
            max_timestamp=now_ms,
            producer_id=NO_PRODUCER_ID if producer is None else producer.producer_id,
            producer_epoch=NO_PRODUCER_EPOCH if producer is None else producer.producer_epoch,
            base_sequence=NO_SEQUENCE,
            record_count=count,
        )


def end_marker(producer: Producer, coordinator_epoch: int, now_ms: int, *, is_commit: bool) -> bytes:
    """Return the batch that ends a producer's transaction in one partition."""
    type_ = ControlRecordType.COMMIT if is_commit else ControlRecordType.ABORT
    key, value = encode_control_record(type_, EndTxnMarker(coordinator_epoch=coordinator_epoch))
    return build_batch(
        [Record(0, now_ms, key, value)],
        base_offset=0,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        is_transactional=True,
        is_control=True,
    )
