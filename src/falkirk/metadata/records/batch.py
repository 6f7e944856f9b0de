"""Batches of record values as the metadata layer reads them, and records as it writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.protocol.schema import WireMessage


class MetadataBatch(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One batch of the metadata log, or of a snapshot; offsets of a snapshot start at 0.

    A control batch has no values and only moves the end offset. `timestamp` is the batch's append time (ms),
    `source` the file's name for errors and losses.
    """

    base_offset: int
    end_offset: int
    epoch: int
    timestamp: int
    values: "Sequence[bytes]" = ()
    source: str | None = None

    @classmethod
    def of(cls, batch: RecordBatch, source: str) -> MetadataBatch:
        """Decompress and split a batch. Raises RemoteProtocolError."""
        return cls(
            base_offset=batch.base_offset,
            end_offset=batch.end_offset,
            epoch=batch.leader_epoch,
            timestamp=batch.max_timestamp,
            values=() if batch.is_control else batch.values(),
            source=source,
        )

    @classmethod
    def parts(cls, batch: RecordBatch, source: str, records_max: int) -> Iterator[MetadataBatch]:
        """Yield a batch of a snapshot in parts of some records, each split when it is due. Raises RemoteProtocolError.

        In a log a batch takes effect as a whole.
        """
        base_offset = batch.base_offset
        for values in () if batch.is_control else batch.value_runs(records_max):
            yield cls(
                base_offset=base_offset,
                end_offset=base_offset + len(values),
                epoch=batch.leader_epoch,
                timestamp=batch.max_timestamp,
                values=values,
                source=source,
            )
            base_offset += len(values)


class VersionedRecord(NamedTuple):
    """A record and the version to encode it at."""

    record: "WireMessage"
    version: int
