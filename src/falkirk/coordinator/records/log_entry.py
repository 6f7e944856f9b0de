"""The entries of a coordinator topic's partition in log order: records, and transaction markers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from falkirk.protocol.control_record import ControlRecordType, control_record_type
from falkirk.protocol.record_batch import NO_PRODUCER_ID

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from falkirk.protocol.record_batch import RecordBatch


_ENDS = (ControlRecordType.ABORT, ControlRecordType.COMMIT)


class LoggedRecord(msgspec.Struct, frozen=True, gc=False):
    """A record of a data batch. `producer_id` and `is_transactional` are those of its batch."""

    offset: int
    key: bytes | None
    value: bytes | None
    producer_id: int = NO_PRODUCER_ID
    is_transactional: bool = False


class TransactionEnd(msgspec.Struct, frozen=True, gc=False):
    """The marker that ends a producer's transaction."""

    offset: int
    producer_id: int
    is_commit: bool


LogEntry = LoggedRecord | TransactionEnd


def log_entries(batches: Iterable[RecordBatch]) -> Iterator[LogEntry]:
    """Yield the entries of a partition's batches; other control records are left out.

    Raises RemoteProtocolError for a batch whose records do not parse, or a control record without a type.
    """
    for batch in batches:
        if batch.is_control:
            for record in batch.records():
                type_ = control_record_type(record.key)
                if type_ in _ENDS:
                    yield TransactionEnd(record.offset, batch.producer_id, type_ == ControlRecordType.COMMIT)
            continue
        producer_id, transactional = batch.producer_id, batch.is_transactional
        for record in batch.records():
            yield LoggedRecord(record.offset, record.key, record.value, producer_id, transactional)
