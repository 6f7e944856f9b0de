"""The end of a log in memory takes a bounded amount of it."""

import tracemalloc

from falkirk.protocol.batch_builder import ValueBatchBuilder
from falkirk.protocol.record_batch import RecordBatch, read_batches
from falkirk.storage.batch_tail import BatchTail

KIB = 1024


def batch(offset: int) -> RecordBatch:
    """Return the smallest batch, as that of a NoOpRecord."""
    builder = ValueBatchBuilder(base_offset=offset, leader_epoch=1, timestamp_ms=0)
    builder.extend([b"\1\x14\0\0"])
    (made,) = read_batches(builder.build())
    return made


def test_small_batches_take_no_more_memory_than_the_tail_may_have():
    tail = BatchTail(256 * KIB)
    tail.append([batch(0)])
    tracemalloc.start()
    for offset in range(1, 4_000):
        tail.append([batch(offset)])
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert taken < 300 * KIB
    assert tail.holds(3_999)
    assert not tail.holds(3_000)


def test_what_was_deleted_from_the_log_is_not_kept():
    tail = BatchTail(256 * KIB)
    tail.append([batch(offset) for offset in range(10)])
    tail.drop_before(4)
    assert not tail.holds(3)
    assert next(each.base_offset for each in tail.read(4, KIB)) == 4
    tail.drop_before(10)
    assert not tail.holds(9)
