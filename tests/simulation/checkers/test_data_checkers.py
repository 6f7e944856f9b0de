"""Each checker of data holds its peace while all is well, and names what is wrong."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, MetadataImage, Provenance
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.messages import PartitionRecord, TopicRecord
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import RecordBatch, read_batch
from falkirk.simulation.checkers.acked_records_survive import AckedRecordsSurvive
from falkirk.simulation.checkers.committed_records_stay import CommittedRecordsStay
from falkirk.simulation.checkers.data_checker import DataChecker
from falkirk.simulation.checkers.idempotence import Idempotence
from falkirk.simulation.checkers.in_sync_replicas_have_committed import InSyncReplicasHaveCommitted
from falkirk.simulation.checkers.leader_epochs_fit import LeaderEpochsFit
from falkirk.simulation.checkers.log_watch import LogWatch
from falkirk.simulation.checkers.partition_high_watermarks import PartitionHighWatermarks
from falkirk.simulation.checkers.replicas_match import ReplicasMatch
from falkirk.simulation.history.data_history import DataHistory, PartitionKey, make_value
from falkirk.simulation.history.invariant import InvariantViolatedError
from falkirk.simulation.history.linearizability import Operation, is_linearizable

TOPIC_ID = bytes(15) + b"\x07"
KEY = PartitionKey(TOPIC_ID, 0)


@dataclass
class Log:
    """One record a batch: (epoch, value) each, None where compaction has taken it."""

    written: list[tuple[int, bytes] | None]
    high_watermark: int = 0
    led_epoch: int | None = None
    log_start_offset: int = 0
    epochs: list[OffsetAndEpoch] = field(default_factory=list)
    key: PartitionKey = KEY

    @property
    def log_end_offset(self) -> int:
        return len(self.written)

    def batches(self, from_offset: int, to_offset: int) -> Iterator[RecordBatch]:
        for offset in range(from_offset, to_offset):
            written = self.written[offset]
            if written is not None:
                epoch, value = written
                record = Record(offset, 0, b"key", value)
                data = build_batch([record], base_offset=offset, leader_epoch=epoch)
                yield read_batch(memoryview(data), 0)


@dataclass
class Broker:
    node_id: int
    logs: list[Log]


class Watch:
    """A LogWatch with one checker, and brokers 1 to 3 with one partition."""

    def __init__(self, checker: DataChecker, topic: str = "kept-0") -> None:
        self.history = DataHistory(topics={TOPIC_ID: topic})
        self.watch = LogWatch(self.history, [checker])
        self.watch.published(image([1, 2, 3]))

    def step(self, broker_id: int, *written: tuple[int, bytes] | None, **fields) -> None:
        self.watch.after_step(Broker(broker_id, [Log(list(written), **fields)]))

    def restart(self, broker_id: int, *written: tuple[int, bytes] | None, **fields) -> None:
        broker = Broker(broker_id, [Log(list(written), **fields)])
        self.watch.started(broker)
        self.watch.after_step(broker)

    def end(self, *logs: Log) -> None:
        self.watch.at_end({number: Broker(number, [log]) for number, log in enumerate(logs, 1)})


def image(isr: list[int], offset: int = 1, replicas: tuple[int, ...] = (1, 2, 3), epoch: int = 0) -> MetadataImage:
    delta = MetadataDelta(EMPTY)
    delta.replay(TopicRecord(name="a", topic_id=TOPIC_ID))
    partition = PartitionRecord(
        partition_id=0, topic_id=TOPIC_ID, replicas=replicas, isr=tuple(isr), leader=isr[0], leader_epoch=epoch
    )
    delta.replay(partition)
    return delta.apply(Provenance(offset))


def violation(act: Callable[[], None]) -> str:
    with pytest.raises(InvariantViolatedError) as raised:
        act()
    return str(raised.value)


def value(number: int, producer: str = "p") -> bytes:
    return make_value(producer, number, 0)


A, B, C = (1, value(0)), (1, value(1)), (1, value(2))
OTHER = (1, value(9))


def test_replicas_that_differ_at_an_offset_of_an_epoch():
    watch = Watch(ReplicasMatch())
    watch.step(1, A, B)
    watch.step(2, A, (2, value(5)))
    assert "kept-0-0 on broker 3 has at offset 1 of epoch 1" in violation(lambda: watch.step(3, A, OTHER))


def test_a_replica_that_differs_after_its_start():
    watch = Watch(ReplicasMatch())
    watch.step(1, A, B)
    assert "at offset 1" in violation(lambda: watch.restart(1, A, OTHER))


def test_replicas_that_differ_in_the_end():
    watch = Watch(ReplicasMatch())
    watch.end(Log([A, B]), Log([A, B]), Log([None, B], log_start_offset=1))
    assert "on broker 2 is not equal to that on broker 1" in violation(lambda: watch.end(Log([A, B]), Log([A])))


def test_compacted_replicas_match_record_by_record():
    watch = Watch(ReplicasMatch(), "compacted-0")
    watch.step(1, A, B)
    watch.step(2, None, B)
    watch.end(Log([A, B]), Log([None, B]))
    assert "at offset 1" in violation(lambda: watch.step(3, None, OTHER))


def test_a_committed_record_that_is_another_one_elsewhere():
    watch = Watch(CommittedRecordsStay())
    watch.step(1, A, B, high_watermark=2)
    watch.step(2, A, OTHER, high_watermark=1)
    problem = violation(lambda: watch.step(2, A, OTHER, high_watermark=2))
    assert "on broker 2 has committed p:9: at offset 1, before it was p:1:" in problem


def test_a_hole_in_what_is_committed():
    watch = Watch(CommittedRecordsStay())
    assert "lacks offset 0, which was committed" in violation(lambda: watch.step(1, None, B, high_watermark=2))
    compacted = Watch(CommittedRecordsStay(), "compacted-0")
    compacted.step(1, None, B, high_watermark=2)


def test_a_committed_record_that_is_gone_in_the_end():
    watch = Watch(CommittedRecordsStay())
    watch.step(1, A, B, high_watermark=2)
    watch.end(Log([A, B]), Log([None, B], log_start_offset=1))
    assert "on broker 2 lacks offset 1" in violation(lambda: watch.end(Log([A, B]), Log([A])))


def test_compaction_that_takes_the_last_record_of_a_key():
    watch = Watch(CommittedRecordsStay(), "compacted-0")
    watch.step(1, A, B, high_watermark=2)
    watch.end(Log([None, B]))
    assert "lacks offset 1, the last record of key b'key'" in violation(lambda: watch.end(Log([A, None])))


def test_a_leader_without_an_acknowledged_record():
    watch = Watch(AckedRecordsSurvive())
    watch.history.record_acked(KEY, 0, [A[1], B[1]])
    watch.step(1, A, B, led_epoch=1)
    watch.step(2, A)
    problem = violation(lambda: watch.step(2, A, led_epoch=2))
    assert "on broker 2 has nothing at offset 1, acknowledged was p:1:" in problem


def test_a_leader_that_learns_late_of_a_leadership_that_is_over():
    watch = Watch(AckedRecordsSurvive())
    watch.step(2, A)
    watch.watch.published(image([1, 3], offset=2, epoch=3))
    watch.step(1, A, B, led_epoch=3)
    watch.history.record_acked(KEY, 0, [A[1], B[1]])
    watch.step(2, A, led_epoch=2)
    watch.watch.published(image([2, 3], offset=3, epoch=4))
    assert "on broker 2 has nothing at offset 1" in violation(lambda: watch.step(2, A, led_epoch=4))


def test_an_acknowledged_or_read_record_that_is_another_one_in_the_end():
    watch = Watch(AckedRecordsSurvive())
    watch.history.record_acked(KEY, 0, [A[1]])
    watch.history.record_read(KEY, 1, B[1], "consumer")
    watch.end(Log([A, B]))
    assert "has p:9: at offset 0, acknowledged was p:0:" in violation(lambda: watch.end(Log([OTHER, B])))
    assert "has p:9: at offset 1, read was p:1:" in violation(lambda: watch.end(Log([A, OTHER])))


def test_what_may_be_taken_is_not_asked_for():
    watch = Watch(AckedRecordsSurvive(), "trimmed-0")
    watch.history.record_acked(KEY, 0, [A[1], B[1]])
    watch.end(Log([None, B], log_start_offset=1))
    assert "acknowledged was p:1:" in violation(lambda: watch.end(Log([A])))
    compacted = Watch(AckedRecordsSurvive(), "compacted-0")
    compacted.history.record_acked(KEY, 0, [A[1], B[1]])
    compacted.end(Log([None, B]))
    assert "acknowledged was p:1:" in violation(lambda: compacted.end(Log([None])))
    kept = Watch(AckedRecordsSurvive())
    kept.history.record_acked(KEY, 0, [A[1], B[1]])
    problem = violation(lambda: kept.end(Log([None, B], log_start_offset=1)))
    assert "begins at offset 1, nothing may be deleted" in problem


def test_deleted_records_that_come_back():
    watch = Watch(AckedRecordsSurvive(), "trimmed-0")
    watch.history.of(KEY).deleted_to = 2
    watch.end(Log([A, B, C], log_start_offset=2), Log([A, B, C], log_start_offset=2))
    watch.end(Log([A, B, C], log_start_offset=1))
    assert "on broker 2 begins at offset 1, records were deleted up to 2" in violation(
        lambda: watch.end(Log([A, B, C], log_start_offset=2), Log([A, B, C], log_start_offset=1))
    )


def test_deleted_records_may_come_back_where_all_that_may_lead_have_started_again():
    watch = Watch(AckedRecordsSurvive(), "trimmed-0")
    watch.history.of(KEY).deleted_to = 2
    logs = Log([A, B, C], log_start_offset=2), Log([A, B, C], log_start_offset=1)
    watch.watch.published(image([1, 2], offset=2))
    watch.restart(1, A, B, C, log_start_offset=2)
    watch.restart(3, A, B, C)
    violation(lambda: watch.end(*logs))
    # It has left the ISR meanwhile, so it follows whoever leads.
    watch.watch.published(image([2], offset=3))
    violation(lambda: watch.end(*logs))
    watch.restart(2, A, B, C, log_start_offset=1)
    watch.end(*logs)


def test_an_offset_that_is_acknowledged_twice_or_read_differently():
    history = DataHistory(topics={TOPIC_ID: "kept-0"})
    history.record_acked(KEY, 0, [A[1]])
    assert "offset 0 of kept-0-0 was acknowledged for p:0:, now for p:1:" in violation(
        lambda: history.record_acked(KEY, 0, [B[1]])
    )
    history.record_read(KEY, 0, A[1], "consumer-1")
    assert "consumer-2 reads p:1: at offset 0 of kept-0-0, it was p:0: before" in violation(
        lambda: history.record_read(KEY, 0, B[1], "consumer-2")
    )
    history.lossy.add(KEY)
    history.record_read(KEY, 0, B[1], "consumer-2")


def test_an_append_comes_behind_all_that_was_known_before_it_was_sent():
    history = DataHistory(topics={TOPIC_ID: "kept-0"})
    history.record_acked(KEY, 3, [A[1]])
    assert "p:1: is at offset 1 of kept-0-0, records up to 3 were known before it was sent" in violation(
        lambda: history.record_acked(KEY, 1, [B[1]], after=history.of(KEY).end_seen)
    )
    history.record_acked(KEY, 2, [C[1]])  # sent before anything was known
    history.record_read(KEY, 7, B[1], "consumer")
    assert "records up to 7 were known" in violation(
        lambda: history.record_acked(KEY, 4, [B[1]], after=history.of(KEY).end_seen)
    )
    history.lossy.add(KEY)
    history.record_acked(KEY, 1, [B[1]], after=8)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=5), st.data())
def test_appends_are_refused_where_no_order_explains_their_offsets(spans, data):
    offsets = data.draw(st.permutations(range(len(spans))))
    points = [(2 * min(span) + 1, 2 * max(span) + 2) for span in spans]
    operations = [Operation(offset, *times) for offset, times in zip(offsets, points, strict=True)]
    # The log gives out its next offset.
    explained = is_linearizable(operations, lambda end, offset: end + 1 if offset == end else None, 0)

    history, after, accepted = DataHistory(topics={TOPIC_ID: "kept-0"}), {}, True
    moments = sorted((time, index) for index, times in enumerate(points) for time in times)
    for time, index in moments:
        if time % 2:
            after[index] = history.of(KEY).end_seen
            continue
        try:
            history.record_acked(KEY, offsets[index], [value(index)], after[index])
        except InvariantViolatedError:
            accepted = False
    assert accepted == explained


def test_a_consumer_passes_no_acknowledged_record():
    history = DataHistory(topics={TOPIC_ID: "kept-0"})
    history.record_acked(KEY, 1, [A[1], B[1]])
    history.check_passed(KEY, range(4), {0, 1, 2}, "consumer")
    history.check_passed(KEY, range(1), set(), "consumer")
    assert "consumer goes from offset 0 to 4 of kept-0-0 without p:1: at 2" in violation(
        lambda: history.check_passed(KEY, range(4), {0, 1, 3}, "consumer")
    )
    history.lossy.add(KEY)
    history.check_passed(KEY, range(4), set(), "consumer")


@pytest.mark.parametrize("again", [A, B])
def test_a_record_that_is_there_twice_or_out_of_order(again):
    watch = Watch(Idempotence())
    watch.history.idempotent.add("p")
    watch.step(1, A, (1, value(7, "plain")), B, high_watermark=3)
    watch.step(2, A, (1, value(7, "plain")), B, high_watermark=3)
    watch.step(1, A, (1, value(7, "plain")), B, (1, value(7, "plain")), high_watermark=4)
    number = 0 if again is A else 1
    assert f"record {number} of p is at offset 4 of kept-0-0 on broker 1, record 1 was at offset 2" in violation(
        lambda: watch.step(1, A, (1, value(7, "plain")), B, (1, value(7, "plain")), again, high_watermark=5)
    )


def test_a_producer_whose_records_are_deleted_may_come_again():
    watch = Watch(Idempotence(), "trimmed-0")
    watch.history.idempotent.add("p")
    watch.step(1, A, B, high_watermark=2)
    watch.step(1, A, B, A, high_watermark=3, log_start_offset=2)


def test_a_replica_in_sync_that_lacks_what_is_committed():
    watch = Watch(InSyncReplicasHaveCommitted())
    for broker_id in (2, 3):
        watch.step(broker_id, A)
    watch.step(1, A, B, led_epoch=1, high_watermark=1)
    assert "has high watermark 2, broker 2 is in sync and its log ends at 1" in violation(
        lambda: watch.step(1, A, B, led_epoch=1, high_watermark=2)
    )
    watch.watch.published(image([1, 3], offset=2))
    watch.step(3, A, B, C)
    watch.step(1, A, B, C, led_epoch=1, high_watermark=3)


def test_a_replica_that_joins_without_what_is_committed():
    watch = Watch(InSyncReplicasHaveCommitted())
    watch.watch.published(image([1, 2], offset=2))
    watch.step(2, A, B)
    watch.step(3, A)
    watch.step(1, A, B, led_epoch=1, high_watermark=2)
    assert "on broker 3 is in sync now, its log ends at 1, 2 are committed" in violation(
        lambda: watch.watch.published(image([1, 2, 3], offset=3))
    )


def test_a_leaders_high_watermark_that_falls():
    watch = Watch(PartitionHighWatermarks())
    watch.step(1, A, B, led_epoch=1, high_watermark=2)
    assert "goes from high watermark 2 back to 1" in violation(
        lambda: watch.step(1, A, B, led_epoch=1, high_watermark=1)
    )
    watch.step(1, A, B, led_epoch=2, high_watermark=1)
    watch.restart(1, A, B, led_epoch=2, high_watermark=0)


def test_a_log_start_that_falls():
    watch = Watch(PartitionHighWatermarks())
    watch.step(1, A, B, led_epoch=1, high_watermark=2, log_start_offset=1)
    assert "from log start 1 to 0" in violation(lambda: watch.step(1, A, B, led_epoch=1, high_watermark=2))


def test_a_replica_that_cuts_off_what_is_committed():
    watch = Watch(PartitionHighWatermarks())
    watch.step(2, A, B, high_watermark=2)
    assert "is cut off at 1, its high watermark was 2" in violation(lambda: watch.step(2, A, high_watermark=1))


def test_a_compacted_replica_may_cut_off_only_what_compaction_has_removed():
    """Seed 50186: the leader had fetched a log without any record of an epoch that the replica had."""
    watch = Watch(PartitionHighWatermarks(), "compacted-0")
    watch.step(2, A, B, high_watermark=2)
    watch.step(2, A, high_watermark=1)
    watch.end(Log([A, None, C]), Log([A, None, C]))
    assert "has records in 1 to 2, which another replica has cut off" in violation(
        lambda: watch.end(Log([A, None, C]), Log([A, B, C]))
    )


def test_a_high_watermark_behind_the_end_of_the_log():
    watch = Watch(PartitionHighWatermarks())
    assert "has high watermark 2 and ends at 1" in violation(lambda: watch.step(2, A, high_watermark=2))


def test_leader_epochs_that_do_not_fit():
    watch = Watch(LeaderEpochsFit())
    good = [OffsetAndEpoch(0, 1), OffsetAndEpoch(1, 3)]
    watch.end(Log([A, (3, value(1))], epochs=good[1:]))
    watch.end(Log([A, (3, value(1))], epochs=good), Log([None, (3, value(1))], log_start_offset=1, epochs=good))
    assert "keeps epoch 1 for offset 1, the batch there is of 3" in violation(
        lambda: watch.end(Log([A, (3, value(1))], epochs=good[:1]))
    )
    assert "before" in violation(lambda: watch.step(1, A, led_epoch=3, epochs=list(reversed(good))))
    assert "ends at 0" in violation(lambda: watch.step(2, led_epoch=3, epochs=good))


def test_a_partition_may_have_lost_records_when_all_in_sync_lost_power():
    watch = Watch(CommittedRecordsStay())
    watch.step(1, A, B, high_watermark=2)
    watch.watch.lost_power(1)
    assert KEY not in watch.history.lossy
    # Broker 1 comes back and is in sync again: what happens to it now is another loss.
    watch.watch.published(image([2, 3], offset=2))
    watch.watch.published(image([2, 3, 1], offset=3))
    watch.watch.lost_power(2)
    watch.watch.lost_power(3)
    assert KEY not in watch.history.lossy
    watch.watch.published(image([2, 3], offset=4))
    assert KEY in watch.history.lossy
    watch.step(2, A, OTHER, high_watermark=2)


def test_the_last_one_in_sync_may_not_lose_power():
    watch = Watch(CommittedRecordsStay())
    watch.watch.published(image([2], offset=2))
    watch.watch.lost_power(1)
    assert not watch.history.lossy
    watch.watch.lost_power(2)
    assert watch.history.lossy == {KEY}


def test_a_replica_that_is_taken_away_begins_anew():
    watch = Watch(PartitionHighWatermarks())
    watch.step(2, A, B, high_watermark=2)
    watch.watch.after_step(Broker(2, []))
    watch.step(2, A, high_watermark=0)
