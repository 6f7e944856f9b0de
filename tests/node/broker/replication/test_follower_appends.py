"""A follower takes over what its leader sends, as far as it fits."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from falkirk.metadata.image.partition import Partition as PartitionState
from falkirk.node.broker.replication.hosted_partition import HostedPartition
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.record import Record
from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.topic_partition import TopicIdPartition
from falkirk.storage.log.append import CorruptRecordsError
from falkirk.storage.log.log_config import LogConfig
from falkirk.storage.log.log_opening import LogOpening
from falkirk.storage.log.unified_log import UnifiedLog
from falkirk.storage.memory_disk import MemoryDisk

KEY = TopicIdPartition(b"t" * 16, "t", 0)
LEADER_EPOCH = 3


def stored(base_offset: int, count: int = 1, epoch: int = LEADER_EPOCH) -> bytes:
    records = [Record(base_offset + index, 1_700_000_000_000, None, b"v") for index in range(count)]
    return build_batch(records, base_offset=base_offset, leader_epoch=epoch)


@pytest.fixture
def failures() -> list[tuple[object, OSError]]:
    """Have what the follower tells of logs that fail."""
    return []


@pytest.fixture
def follower(failures: list[tuple[object, OSError]]) -> HostedPartition:
    """Return broker 2's replica of a partition that broker 1 leads in epoch 3."""
    log = LogOpening(
        disk=MemoryDisk(),
        directory="/d0/t-0",
        config=LogConfig(),
        topic_partition=KEY.topic_partition,
        topic_id=ZERO_UUID,
        recovery_point=0,
        log_start_offset=0,
        had_clean_shutdown=False,
        now_ms=0,
    ).run()
    context = SimpleNamespace(node_id=2, now_ms=0)
    partition = HostedPartition(KEY, context, None, lambda _: None, lambda *failure: failures.append(failure))
    partition.make_follower(PartitionState((1, 2), (ZERO_UUID,) * 2, (1, 2), 1, LEADER_EPOCH, 0), log)
    return partition


def test_batches_high_watermark_and_start_are_taken_over(follower):
    follower.append_as_follower(stored(0, 4) + stored(4), 4, 2)

    log = follower.log
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (2, 4, 5)


class BrokenLog(UnifiedLog):
    """The log of a replica that moves, in a directory that has failed."""

    def __init__(self):
        self.error = OSError(5, "Input/output error")

    def truncate_to(self, _offset):
        raise self.error

    truncate_fully_and_start_at = truncate_to


@pytest.mark.parametrize("how", ["truncate_to", "truncate_fully_and_start_at"])
def test_what_fails_of_a_replica_that_moves_is_told_of_that_one_and_the_replica_is_cut(follower, failures, how):
    follower.append_as_follower(stored(0, 4) + stored(4), 4, 0)
    future = follower.future_log = BrokenLog()

    getattr(follower, how)(4)

    assert failures == [(future, future.error)]
    assert follower.log.log_end_offset == 4


def test_an_empty_replica_begins_with_the_batch_in_whose_middle_the_leaders_log_starts(follower):
    follower.truncate_fully_and_start_at(12)

    follower.append_as_follower(stored(10, 5), 15, 12)

    log = follower.log
    assert (log.segments.active.base_offset, log.log_start_offset, log.log_end_offset) == (10, 12, 15)


def test_an_empty_replica_stays_as_it_is_if_what_comes_ends_before_it(follower):
    follower.truncate_fully_and_start_at(12)

    with pytest.raises(CorruptRecordsError):
        follower.append_as_follower(stored(5, 3), 15, 5)

    log = follower.log
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (12, 12, 12)


def test_batches_of_a_later_leader_than_the_one_that_was_asked_are_dropped(follower):
    follower.append_as_follower(stored(0) + stored(1, epoch=LEADER_EPOCH + 1), 2, 0)

    assert follower.log.log_end_offset == 1


@pytest.mark.parametrize(
    "sent",
    [stored(0, 2), stored(1)[:-1] + b"\xff", bytes(100), stored(1, 2) + stored(2)],
    ids=["what is there", "a wrong CRC", "zeros", "offsets that go back"],
)
def test_what_does_not_fit_is_refused_and_nothing_of_it_kept(follower, sent):
    follower.append_as_follower(stored(0), 1, 0)

    with pytest.raises(CorruptRecordsError):
        follower.append_as_follower(sent, 9, 0)

    assert (follower.log.log_end_offset, follower.log.high_watermark) == (1, 1)


def test_a_start_beyond_what_is_committed_is_not_believed(follower):
    follower.append_as_follower(stored(0, 4), 2, 3)

    assert (follower.log.log_start_offset, follower.log.high_watermark) == (0, 2)
