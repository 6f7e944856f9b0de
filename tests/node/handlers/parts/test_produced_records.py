"""What is read of produced bytes before any log is involved."""

from falkirk.node.handlers.parts.produced_records import UNREADABLE, batch_heads
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.record import Record

BATCH = build_batch([Record(0, 0, None, b"v")], base_offset=0)


def test_no_more_batches_are_looked_at_than_decide_on_a_request():
    (head,) = batch_heads(BATCH)
    assert head.magic == 2
    assert batch_heads(BATCH + b"\xff" * 20) == [head, UNREADABLE]
    for count in (2, 3, 1_000):
        assert batch_heads(BATCH * count) == [head, head]
