"""What managers decide becomes batches of the log."""

from __future__ import annotations

from random import Random

import pytest
from broker_requests import heartbeat
from controllers import make_controller

from falkirk.metadata.controller.controller import Controller
from falkirk.metadata.controller.partitions import broker_sweeps
from falkirk.metadata.controller.state.controller_indexes import ControllerIndexes
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.controller.state.settings import ControllerSettings
from falkirk.metadata.image.metadata_image import EMPTY
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.node.controller.active_controller import (
    BATCH_BYTES_MAX,
    BATCH_RECORDS_MAX,
    TRIES_IN_SLICES,
    ActiveController,
    TooManyRecordsError,
)
from falkirk.protocol.messages import (
    BeginTransactionRecord,
    ConfigRecord,
    DelegationTokenRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
)
from falkirk.protocol.metadata_record import decode_metadata_record
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion
from falkirk.versions.release import Release


class Raft:
    """Keeps what was appended."""

    def __init__(self) -> None:
        self.batches = []
        self.end_offset = 0

    def append(self, values, _now_ms) -> int:
        base_offset = self.end_offset
        self.batches.append(list(values))
        self.end_offset += len(values)
        return base_offset


def active(idle_interval_ms: int = 500, level: str = "4.3-IV0") -> tuple[ActiveController, Raft]:
    raft = Raft()
    settings = ControllerSettings(node_id=1, cluster_id="c", release=Release.parse("4.3"))
    controller = Controller(settings, EMPTY, ControllerIndexes(), epoch=3, random=Random(1), now_ms=0)
    made = ActiveController(controller, raft, idle_interval_ms=idle_interval_ms, now_ms=0)
    version = MetadataVersion.parse(level)
    made.append(result(VersionedRecord(FeatureLevelRecord(METADATA_VERSION, version.level), 0)), 0)
    raft.batches.clear()
    return made, raft


def result(*records: VersionedRecord, is_atomic: bool = True) -> ControllerResult[None]:
    return ControllerResult(records, None, is_atomic=is_atomic)


def config(index: int, size: int = 1) -> VersionedRecord:
    return VersionedRecord(ConfigRecord(4, "1", f"name-{index}", "v" * size), 0)


def test_records_are_in_the_controllers_state_and_in_the_log_at_the_same_offsets():
    controller, raft = active()

    end_offset = controller.append(result(config(1), config(2)), 10)

    assert end_offset == raft.end_offset == controller.controller.state.next_offset
    assert [[decode_metadata_record(value)[0].name for value in batch] for batch in raft.batches] == [
        ["name-1", "name-2"]
    ]


def test_an_answer_without_records_rests_on_the_end_of_the_log():
    controller, raft = active()
    controller.append(result(config(1)), 10)

    assert controller.append(result(), 10) == raft.end_offset
    assert len(raft.batches) == 1


def test_records_that_may_be_spread_fill_batches_of_what_kafka_allows():
    controller, raft = active()
    records = [config(index) for index in range(BATCH_RECORDS_MAX + 1)]

    controller.append(result(*records, is_atomic=False), 10)

    assert [len(batch) for batch in raft.batches] == [BATCH_RECORDS_MAX, 1]


def test_batches_are_cut_by_their_bytes_too():
    controller, raft = active()
    records = [config(index, size=30_000) for index in range(400)]

    controller.append(result(*records, is_atomic=False), 10)

    assert len(raft.batches) == 2
    assert all(sum(map(len, batch)) < BATCH_BYTES_MAX for batch in raft.batches)


def test_records_that_belong_together_and_do_not_fit_change_nothing():
    controller, raft = active()
    records = [config(index) for index in range(BATCH_RECORDS_MAX + 1)]
    before = controller.controller.state.image

    with pytest.raises(TooManyRecordsError):
        controller.append(result(*records), 10)

    assert raft.batches == []
    assert controller.controller.state.image is before


@pytest.mark.parametrize("is_atomic", [True, False])
def test_one_record_that_no_batch_holds_changes_nothing(is_atomic):
    controller, raft = active()
    renewers = ["User:" + "r" * 30_000] * 300
    token = VersionedRecord(DelegationTokenRecord("User:o", "User:o", renewers, 0, 1, 1, "id"), 0)
    before = controller.controller.state.image

    with pytest.raises(TooManyRecordsError, match="a record of 9"):
        controller.append(result(config(1), token, is_atomic=is_atomic), 10)

    assert raft.batches == []
    assert controller.controller.state.image is before


def test_a_transaction_goes_before_the_batch_that_ends_it_over_as_many_as_it_takes():
    controller, raft = active()
    begin = VersionedRecord(BeginTransactionRecord("x"), 0)
    inside = tuple(config(index) for index in range(BATCH_RECORDS_MAX))
    last = (config(-1), VersionedRecord(EndTransactionRecord(), 0))

    end_offset = controller.append(ControllerResult(last, None, transaction=(begin, *inside)), 10)

    assert [len(batch) for batch in raft.batches] == [BATCH_RECORDS_MAX, 1, 2]
    assert end_offset == raft.end_offset == controller.controller.state.next_offset
    assert len(controller.controller.state.image.configs.of(4, "1")) == BATCH_RECORDS_MAX + 1


def test_unclean_elections_are_told_once_and_no_others():
    controller, _ = active()
    topic_id = b"t" * 16
    partition = {"replicas": (1, 2, 3), "isr": (1,), "leader_epoch": 0, "partition_epoch": 0}
    records = [
        TopicRecord("t", topic_id),
        PartitionRecord(0, topic_id, leader=-1, **partition),
        PartitionRecord(1, topic_id, leader=-1, **partition),
        PartitionRecord(2, topic_id, leader=2, leader_recovery_state=1, **partition | {"isr": (2,)}),
        PartitionRecord(3, topic_id, leader=2, leader_recovery_state=1, **partition | {"isr": (2,)}),
    ]
    controller.append(result(*(VersionedRecord(record, 0) for record in records)), 10)
    changes = [
        PartitionChangeRecord(0, topic_id, isr=(2,), leader=2, leader_recovery_state=1),
        PartitionChangeRecord(1, topic_id, leader=1),
        # It has not recovered yet from the last one.
        PartitionChangeRecord(2, topic_id, isr=(3,), leader=3),
        PartitionChangeRecord(3, topic_id, leader=2, leader_recovery_state=0),
    ]
    controller.append(result(*(VersionedRecord(change, 0) for change in changes)), 10)
    assert controller.pop_unclean_elections() == [("t", 0, 2), ("t", 2, 3)]
    assert controller.pop_unclean_elections() == []


def test_a_session_that_ends_while_much_is_decided_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(broker_sweeps, "PARTITIONS_PER_SLICE", 2)
    topic_id = b"t" * 16
    fields = {"replicas": (1, 2, 3), "isr": (1, 2, 3), "leader": 1, "leader_epoch": 0, "partition_epoch": 0}
    records = [TopicRecord("t", topic_id), *(PartitionRecord(number, topic_id, **fields) for number in range(20))]
    raft = Raft()
    made = make_controller(brokers=[1, 2, 3], records=records)
    raft.end_offset = made.state.next_offset
    controller = ActiveController(made, raft, idle_interval_ms=500, now_ms=0)
    controller.append(heartbeat(made, 1, want_fence=True), 0)
    assert controller.decide_next(100)
    controller.append(heartbeat(made, 3, now_ms=8_000), 8_000)

    assert controller.decide_next(9_500)

    fenced = [broker_id for broker_id, broker in sorted(made.state.image.cluster.brokers.items()) if broker.fenced]
    assert fenced == [1, 2]
    while controller.decide_next(9_600):
        pass
    assert {partition.leader for partition in made.state.image.topics.topic("t").partitions} == {3}


def test_what_cannot_be_replayed_does_not_reach_the_log():
    controller, raft = active()
    poison = VersionedRecord(PartitionChangeRecord(partition_id=0, topic_id=bytes(15) + b"\7"), 0)

    with pytest.raises(Exception, match="PartitionChangeRecord"):
        controller.append(result(poison), 10)

    assert raft.batches == []


def test_records_that_raft_appends_by_itself_move_the_controllers_offset():
    controller, raft = active()
    raft.end_offset += 2

    controller.catch_up(10)

    assert controller.controller.state.next_offset == raft.end_offset


class Request:
    """Decides on some configs, 500 in a slice, of the image that it finds."""

    def __init__(self, controller: ActiveController, count: int) -> None:
        self.state = controller.controller.state
        self.count = count
        self.images = []

    def decide(self):
        self.images.append(self.state.image)
        records = []
        for index in range(self.count):
            records.append(config(index))
            if index % 500 == 499:
                yield
        return ControllerResult(tuple(records), "done")


def operate(controller: ActiveController, request: Request, between=lambda: None):
    """Return the response, the end offset and the number of steps; `between` is called between steps."""
    slices, steps = controller.operate(request.decide, lambda: 10), 1
    while True:
        try:
            next(slices)
        except StopIteration as end:
            assert not controller.is_operating
            return *end.value, steps
        assert controller.is_operating
        between()
        steps += 1


def test_a_large_request_takes_many_steps_and_effect_in_the_last_one():
    controller, raft = active()
    state, before = controller.controller.state, controller.controller.state.image

    def nothing_has_changed():
        assert state.image is before
        assert raft.batches == []

    response, end_offset, steps = operate(controller, Request(controller, 5_000), nothing_has_changed)
    assert response == "done"
    assert steps > 30, "decided, encoded and replayed 500 at a time"
    assert [len(batch) for batch in raft.batches] == [5_000]
    assert end_offset == raft.end_offset == state.next_offset
    assert len(state.image.configs.of(4, "1")) == 5_000


def test_a_small_request_takes_one_step():
    controller, raft = active()
    end_offset = raft.end_offset + 400
    assert operate(controller, Request(controller, 400)) == ("done", end_offset, 1)


def test_a_request_is_decided_anew_if_the_state_changes_meanwhile():
    controller, raft = active()
    request, changes = Request(controller, 1_000), iter([result(config(-1))])
    operate(controller, request, lambda: controller.append(next(changes, result()), 10))
    assert len(request.images) == 2
    assert "name--1" in request.images[1].configs.of(4, "1")
    assert [len(batch) for batch in raft.batches] == [1, 1_000]
    assert controller.controller.state.next_offset == raft.end_offset


def test_a_request_is_decided_in_one_step_if_the_state_never_rests():
    controller, raft = active()
    request = Request(controller, 1_000)
    _, _, steps = operate(controller, request, lambda: controller.append(result(config(-1)), 10))
    assert len(request.images) == TRIES_IN_SLICES + 1
    assert steps == TRIES_IN_SLICES + 1
    assert len(raft.batches[-1]) == 1_000


def test_a_request_that_is_given_up_leaves_the_controller_to_others():
    controller, raft = active()
    slices = controller.operate(Request(controller, 1_000).decide, lambda: 10)
    next(slices)
    slices.close()
    assert not controller.is_operating
    assert raft.batches == []


def test_a_no_op_record_follows_so_long_without_any_other():
    controller, raft = active(idle_interval_ms=500)
    controller.append(result(config(1)), 300)

    controller.tick(799)
    assert len(raft.batches) == 1
    assert controller.next_wakeup_ms == 800
    controller.tick(800)

    assert isinstance(decode_metadata_record(raft.batches[1][0])[0], NoOpRecord)
    assert controller.next_wakeup_ms == 1300


@pytest.mark.parametrize(("interval_ms", "level"), [(0, "4.3-IV0"), (500, "3.3-IV0")])
def test_no_op_records_are_not_written_where_they_are_not_wanted_or_not_known(interval_ms, level):
    controller, raft = active(idle_interval_ms=interval_ms, level=level)

    controller.tick(10_000)

    assert raft.batches == []
