"""What a leader sent to a follower, before it is appended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record_batch import IncompleteBatchError, RecordBatch, read_batch
from falkirk.storage.log.append import CorruptRecordsError
from falkirk.storage.producer_state import transaction_marker

if TYPE_CHECKING:
    from collections.abc import Sequence


def read_replicated(records: memoryview, leader_epoch: int | None) -> Sequence[RecordBatch]:
    """Give the batches that are whole; what is behind a cut-off one is dropped.

    Dropped, too, is what begins with a batch of a later epoch than `leader_epoch`: who asked for it followed an older
    leader (KAFKA-18723). Raises CorruptRecordsError for a CRC that does not fit, offsets that do not increase, and
    markers of transactions that do not parse.
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
