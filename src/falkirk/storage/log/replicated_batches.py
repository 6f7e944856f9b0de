"""Checks a leader's records before a follower appends them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record_batch import IncompleteBatchError, RecordBatch, read_batch
from falkirk.storage.log.append import CorruptRecordsError
from falkirk.storage.producer_state import transaction_marker

if TYPE_CHECKING:
    from collections.abc import Sequence


def read_replicated(records: memoryview, leader_epoch: int | None) -> Sequence[RecordBatch]:
    """Return the complete batches; what follows an incomplete one is dropped.

    Everything from a batch of a later epoch than `leader_epoch` on is dropped, too: the follower fetched it from an
    older leader (KAFKA-18723). Raises CorruptRecordsError for a wrong CRC, offsets that do not increase, and malformed
    transaction markers.
    """
    batches: list[RecordBatch] = []
    position, last_offset = 0, -1
    while position < len(records):
        try:
            batch = read_batch(records, position)
            if batch.is_control and batch.producer_id >= 0:
                transaction_marker(batch)
        except IncompleteBatchError:
            break
        except RemoteProtocolError as error:
            raise CorruptRecordsError(error.reason) from error
        if batch.base_offset <= last_offset:
            raise CorruptRecordsError(f"batch of offset {batch.base_offset} after offset {last_offset}")
        if leader_epoch is not None and batch.leader_epoch > leader_epoch:
            break
        batches.append(batch)
        position, last_offset = batch.end_position, batch.last_offset
    return batches
