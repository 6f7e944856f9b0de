"""The batches of an answer to a fetch that are whole, committed and new."""

from __future__ import annotations

from falkirk.protocol.record_batch import IncompleteBatchError, RecordBatch, read_batch


def committed_batches(records: bytes | memoryview, end_offset: int, high_watermark: int) -> list[RecordBatch]:
    """Return the whole batches between an end offset and the high watermark, as views of `records`.

    The last batch of an answer may be cut off. Raises RemoteProtocolError for bytes that are no batches.
    """
    data, position, found = memoryview(records), 0, []
    while position < len(data):
        try:
            batch = read_batch(data, position)
        except IncompleteBatchError:
            break
        if batch.end_offset > high_watermark:
            break
        if batch.end_offset > end_offset:
            found.append(batch)
            end_offset = batch.end_offset
        position = batch.end_position
    return found
