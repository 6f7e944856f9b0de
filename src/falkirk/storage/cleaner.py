"""Takes records out of a segment as Kafka's log cleaner does: offsets, epochs and producer state survive."""

from collections.abc import Callable, Iterable, Iterator

from falkirk.protocol.batch_filter import filter_batch
from falkirk.protocol.compression import UNCOMPRESSED_BYTES_MAX
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import RecordBatch
from falkirk.storage.producer_state import ProducerStates


def clean_segment(
    batches: Iterable[RecordBatch],
    keep: Callable[[Record], bool],
    *,
    producers: ProducerStates,
    log_end_offset: int,
    bytes_max: int = UNCOMPRESSED_BYTES_MAX,
) -> Iterator[bytes | memoryview]:
    """Give the segment's new `.log` in chunks; batches that lose nothing come out as they are.

    `producers` is the state at the end of the whole partition: the last batch of a producer, and the last batch of the
    log, stay as bare headers when they lose all their records. Control batches are never asked about: markers of
    transactions stay. Rebuild the indexes of what comes out with `rebuild_indexes`; `.txnindex` and producer snapshots
    stay as they are. Source: Cleaner.cleanInto.
    """
    for batch in batches:
        if batch.is_control:
            yield batch.data
            continue
        is_last = batch.end_offset == log_end_offset or producers.is_last_of_its_producer(batch)
        chunk = filter_batch(batch, keep, retain_empty=is_last, bytes_max=bytes_max)
        if chunk is not None:
            yield chunk
