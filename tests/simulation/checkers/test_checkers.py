"""Each checker holds its peace while all is well, and names what is wrong."""

from dataclasses import dataclass, field

import pytest

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, MetadataImage, Provenance
from falkirk.protocol.batch_builder import ValueBatchBuilder
from falkirk.protocol.messages import ConfigRecord, FeatureLevelRecord, RegisterBrokerRecord, TopicRecord
from falkirk.protocol.messages.register_broker_record import BrokerFeature
from falkirk.protocol.record_batch import RecordBatch, read_batches
from falkirk.raft.output import LeaderAndEpoch
from falkirk.simulation.checkers.acked_writes_survive import AckedWritesSurvive
from falkirk.simulation.checkers.checker import InvariantViolatedError
from falkirk.simulation.checkers.consistent_committed_data import ConsistentCommittedData
from falkirk.simulation.checkers.finalized_within_supported import FinalizedWithinSupported
from falkirk.simulation.checkers.image_by_offset import ImageByOffset
from falkirk.simulation.checkers.majority_reached_high_watermark import MajorityReachedHighWatermark
from falkirk.simulation.checkers.monotonic_epoch import MonotonicEpoch
from falkirk.simulation.checkers.monotonic_high_watermark import MonotonicHighWatermark
from falkirk.simulation.checkers.single_leader import SingleLeader
from falkirk.simulation.workload.history import History, TopicHistory


NOBODY = LeaderAndEpoch(leader_id=None, epoch=0)


@dataclass
class Raft:
    leader: LeaderAndEpoch = NOBODY
    high_watermark: int | None = None
    is_leader: bool = False
    voters: dict[int, object] = field(default_factory=dict)


class Log:
    """A log of batches of one record each; the epoch of each is given."""

    start_offset = 0

    def __init__(self, *epochs: int) -> None:
        self.epochs = epochs

    @property
    def end_offset(self) -> int:
        return len(self.epochs)

    def batches(self, from_offset: int, to_offset: int) -> list[RecordBatch]:
        made = []
        for offset in range(from_offset, to_offset):
            builder = ValueBatchBuilder(base_offset=offset, leader_epoch=self.epochs[offset], timestamp_ms=0)
            builder.extend([b"value"])
            made += read_batches(builder.build())
        return made


@dataclass
class Replica:
    node_id: int
    raft: Raft = field(default_factory=Raft)
    log: Log = field(default_factory=Log)
    image: MetadataImage = EMPTY
    is_active_controller: bool = False


def at(epoch: int, leader_id: int | None = None) -> Raft:
    return Raft(leader=LeaderAndEpoch(leader_id=leader_id, epoch=epoch))


def image(*records, end_offset: int = 1) -> MetadataImage:
    delta = MetadataDelta(EMPTY)
    for record in records:
        delta.replay(record)
    return delta.apply(Provenance(end_offset))


def violation(checker, *replicas: Replica) -> str:
    """All but the last are fine."""
    for replica in replicas[:-1]:
        checker.after_step(replica)
    with pytest.raises(InvariantViolatedError) as raised:
        checker.after_step(replicas[-1])
    assert raised.value.invariant == type(checker).__name__
    return str(raised.value)


def test_an_epoch_with_two_leaders():
    problem = violation(SingleLeader(), Replica(1, at(1, 1)), Replica(2, at(2, 2)), Replica(3, at(1, 2)))
    assert problem == "SingleLeader: epoch 1 has leader 2 for node 3, and leader 1 for node 1"


def test_an_epoch_that_falls():
    assert "node 1 is at epoch 4, it was at 5" in violation(
        MonotonicEpoch(), Replica(1, at(5)), Replica(2, at(1)), Replica(1, at(4))
    )


def test_an_epoch_that_a_crash_took_back():
    checker = MonotonicEpoch()
    checker.after_step(Replica(1, at(5)))
    with pytest.raises(InvariantViolatedError):
        checker.started(Replica(1, at(4)))


def test_a_high_watermark_that_falls():
    log = Log(1, 1, 1)
    checker = MonotonicHighWatermark()
    problem = violation(checker, Replica(1, Raft(high_watermark=3), log), Replica(1, Raft(high_watermark=2), log))
    assert "node 1 has high watermark 2, it had 3" in problem
    checker.started(Replica(1))
    checker.after_step(Replica(1, Raft(high_watermark=1), log))


def test_a_high_watermark_beyond_the_log():
    assert "its log ends at 1" in violation(MonotonicHighWatermark(), Replica(1, Raft(high_watermark=2), Log(1)))


def test_a_leader_without_a_majority():
    leader = Raft(LeaderAndEpoch(leader_id=1, epoch=3), 2, is_leader=True, voters={1: None, 2: None, 3: None})
    checker = MajorityReachedHighWatermark()
    checker.after_step(Replica(2, log=Log(1, 3)))
    checker.after_step(Replica(1, leader, Log(1, 3)))
    longer = Raft(leader.leader, 3, is_leader=True, voters=leader.voters)
    assert "only [1] have the log up to there" in violation(checker, Replica(1, longer, Log(1, 3, 3)))


def test_what_is_committed_differs():
    checker = ConsistentCommittedData()
    agreed = Replica(1, Raft(high_watermark=2), Log(1, 1))
    same = Replica(2, Raft(high_watermark=1), Log(1, 2))
    other = Replica(2, Raft(high_watermark=2), Log(1, 2))
    assert "node 2 has committed" in violation(checker, agreed, same, other)


def test_images_of_one_offset_differ():
    topic = TopicRecord(name="a", topic_id=bytes(15) + b"\x09")
    replicas = Replica(1, image=image(topic)), Replica(2, image=image(topic)), Replica(3, image=image())
    assert "the images of nodes 3 and 1 differ at offset 1" in violation(ImageByOffset(), *replicas)


def test_a_broker_that_cannot_run_what_is_finalized():
    def registered(highest: int) -> MetadataImage:
        feature = BrokerFeature("metadata.version", 1, highest)
        level = FeatureLevelRecord(name="metadata.version", feature_level=20)
        return image(level, RegisterBrokerRecord(broker_id=7, features=[feature]))

    replicas = Replica(1, image=registered(20)), Replica(1, image=registered(19))
    problem = violation(FinalizedWithinSupported(), *replicas)
    assert "broker 7 supports metadata.version 1 to 19, finalized is 20" in problem


TOPIC_ID = bytes(15) + b"\x09"


def topic_with(value: str | None) -> MetadataImage:
    records = [TopicRecord(name="a", topic_id=TOPIC_ID)]
    if value is not None:
        records.append(ConfigRecord(resource_type=2, resource_name="a", name="retention.ms", value=value))
    return image(*records)


def survive(history: TopicHistory, found: MetadataImage, *, are_requests_repeated: bool = False) -> None:
    checker = AckedWritesSurvive(History({"a": history}), are_requests_repeated=are_requests_repeated)
    checker.after_step(Replica(1, at(1), image=found))  # not active: nothing is expected of it
    checker.after_step(Replica(1, at(2), image=found, is_active_controller=True))


@pytest.mark.parametrize(
    ("history", "found"),
    [
        (TopicHistory(), EMPTY),
        (TopicHistory(topic_id=TOPIC_ID), topic_with(None)),
        (TopicHistory(topic_id=TOPIC_ID, is_deletion_asked=True), topic_with(None)),
        (TopicHistory(topic_id=TOPIC_ID, is_deletion_asked=True), EMPTY),
        (TopicHistory(topic_id=TOPIC_ID, is_deletion_asked=True, is_deletion_acknowledged=True), EMPTY),
        (TopicHistory(TOPIC_ID, config_values=["1", "2"], acknowledged_config_values=1), topic_with("2")),
        (TopicHistory(TOPIC_ID, config_values=["1", "2"], acknowledged_config_values=2), topic_with("2")),
    ],
)
def test_acknowledged_writes_that_are_there(history, found):
    survive(history, found)


@pytest.mark.parametrize(
    ("history", "found", "problem"),
    [
        (TopicHistory(topic_id=TOPIC_ID), EMPTY, "is not there, its creation was acknowledged"),
        (TopicHistory(topic_id=bytes(16)), topic_with(None), "is not there, its creation was acknowledged"),
        (
            TopicHistory(topic_id=TOPIC_ID, is_deletion_asked=True, is_deletion_acknowledged=True),
            topic_with(None),
            "is there, its deletion was acknowledged",
        ),
        (TopicHistory(TOPIC_ID, config_values=["1"], acknowledged_config_values=1), topic_with(None), "is None"),
        (TopicHistory(TOPIC_ID, config_values=["1", "2"], acknowledged_config_values=2), topic_with("1"), "is 1"),
    ],
)
def test_acknowledged_writes_that_are_gone(history, found, problem):
    with pytest.raises(InvariantViolatedError, match=problem):
        survive(history, found)


def test_a_repeated_request_may_set_an_older_value():
    history = TopicHistory(TOPIC_ID, config_values=["1", "2"], acknowledged_config_values=2)
    survive(history, topic_with("1"), are_requests_repeated=True)
