"""Each checker holds its peace while all is well, and names what is wrong."""

from dataclasses import dataclass, field

import pytest

from falkirk.metadata.controller.partitions import broker_sweeps
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, MetadataImage, Provenance
from falkirk.protocol.batch_builder import ValueBatchBuilder
from falkirk.protocol.messages import (
    ConfigRecord,
    FeatureLevelRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from falkirk.protocol.messages.register_broker_record import BrokerFeature
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.protocol.record_batch import RecordBatch, read_batches
from falkirk.protocol.schema import ZERO_UUID
from falkirk.raft.output import LeaderAndEpoch
from falkirk.raft.voter_set import ReplicaKey, VoterNode
from falkirk.simulation.checkers.acked_writes_survive import AckedWritesSurvive
from falkirk.simulation.checkers.consistent_committed_data import ConsistentCommittedData
from falkirk.simulation.checkers.finalized_within_supported import FinalizedWithinSupported
from falkirk.simulation.checkers.image_by_offset import ImageByOffset
from falkirk.simulation.checkers.leaders_serve import LeadersServe
from falkirk.simulation.checkers.logs_match import LogsMatch
from falkirk.simulation.checkers.majority_reached_high_watermark import MajorityReachedHighWatermark
from falkirk.simulation.checkers.monotonic_epoch import MonotonicEpoch
from falkirk.simulation.checkers.monotonic_high_watermark import MonotonicHighWatermark
from falkirk.simulation.checkers.single_leader import SingleLeader
from falkirk.simulation.checkers.snapshot_equals_log import SnapshotEqualsLog
from falkirk.simulation.history.invariant import InvariantViolatedError
from falkirk.simulation.history.write_history import History, Register, TopicHistory
from falkirk.storage.snapshot_file import Snapshot, read_snapshot
from falkirk.storage.snapshot_writer import write_snapshot

TOPIC_ID = bytes(15) + b"\x09"
NOBODY = LeaderAndEpoch(leader_id=None, epoch=0)


@dataclass
class Raft:
    leader: LeaderAndEpoch = NOBODY
    high_watermark: int | None = None
    is_leader: bool = False
    voters: dict[int, VoterNode] = field(default_factory=dict)


class Log:
    """A log of batches of one record each; the epoch of each is given."""

    start_offset = 0
    latest_snapshot: OffsetAndEpoch | None = None

    def __init__(self, *epochs: int) -> None:
        self.epochs = epochs

    @property
    def end_offset(self) -> int:
        return len(self.epochs)

    @property
    def last_epoch(self) -> int:
        return self.epochs[-1] if self.epochs else 0

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
        MonotonicEpoch({}), Replica(1, at(5)), Replica(2, at(1)), Replica(1, at(4))
    )


def test_an_epoch_that_a_crash_took_back():
    checker = MonotonicEpoch({})
    checker.after_step(Replica(1, at(5)))
    with pytest.raises(InvariantViolatedError):
        checker.started(Replica(1, at(4)))


def test_an_epoch_that_went_with_the_disk():
    directory_ids = {1: b"old"}
    checker = MonotonicEpoch(directory_ids)
    checker.after_step(Replica(1, at(5)))
    directory_ids[1] = b"new"
    checker.started(Replica(1, at(0)))


def test_a_high_watermark_that_falls():
    log = Log(1, 1, 1)
    checker = MonotonicHighWatermark()
    problem = violation(checker, Replica(1, Raft(high_watermark=3), log), Replica(1, Raft(high_watermark=2), log))
    assert "node 1 has high watermark 2, it had 3" in problem
    checker.started(Replica(1))
    checker.after_step(Replica(1, Raft(high_watermark=1), log))


def test_a_high_watermark_beyond_the_log():
    assert "its log ends at 1" in violation(MonotonicHighWatermark(), Replica(1, Raft(high_watermark=2), Log(1)))


def leading(high_watermark: int, voters: dict[int, bytes]) -> Raft:
    """Node 1 leads epoch 3; voters have these disks."""
    nodes = {node_id: VoterNode(key=ReplicaKey(node_id, directory_id)) for node_id, directory_id in voters.items()}
    return Raft(LeaderAndEpoch(leader_id=1, epoch=3), high_watermark, is_leader=True, voters=nodes)


def test_a_leader_without_a_majority():
    voters = dict.fromkeys((1, 2, 3), ZERO_UUID)
    checker = MajorityReachedHighWatermark({})
    checker.after_step(Replica(2, log=Log(1, 3)))
    checker.after_step(Replica(1, leading(2, voters), Log(1, 3)))
    assert "only [1] have the log up to there" in violation(checker, Replica(1, leading(3, voters), Log(1, 3, 3)))


def test_a_log_that_has_diverged_is_not_part_of_a_majority():
    voters = dict.fromkeys((1, 2, 3), ZERO_UUID)
    checker = MajorityReachedHighWatermark({})
    checker.after_step(Replica(2, log=Log(1, 2, 2)))
    assert "only [1] have" in violation(checker, Replica(1, leading(3, voters), Log(1, 3, 3)))


def test_a_voter_with_a_new_disk_is_another_voter():
    disks = {1: bytes(15) + b"1", 2: bytes(15) + b"2", 3: bytes(15) + b"3"}
    voters, now = dict(disks), dict(disks)
    checker = MajorityReachedHighWatermark(now)
    checker.after_step(Replica(2, log=Log(1, 3)))
    now[2] = bytes(15) + b"9"
    checker.after_step(Replica(2, log=Log(1, 3, 3)))
    checker.after_step(Replica(1, leading(2, voters), Log(1, 3, 3)))
    assert "only [1]" in violation(checker, Replica(1, leading(3, voters), Log(1, 3, 3)))


def test_voters_that_were_in_force_until_the_same_step():
    two, four = dict.fromkeys((1, 2), ZERO_UUID), dict.fromkeys((1, 2, 3, 4), ZERO_UUID)
    checker = MajorityReachedHighWatermark({})
    checker.after_step(Replica(2, log=Log(1, 3)))
    checker.after_step(Replica(1, leading(1, two), Log(1, 3)))
    checker.after_step(Replica(1, leading(2, four), Log(1, 3)))


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


class SnapshotLog(Log):
    """A log of one batch with these records, and a snapshot of them, or of others."""

    end_offset = 1
    epochs = (1,)

    def __init__(self, record, snapshot: OffsetAndEpoch | None = None, *in_snapshot) -> None:
        self.latest_snapshot = snapshot
        self._record = record
        self._in_snapshot = in_snapshot

    def batches(self, from_offset: int, to_offset: int) -> list[RecordBatch]:
        assert (from_offset, to_offset) == (0, 1)
        builder = ValueBatchBuilder(base_offset=0, leader_epoch=1, timestamp_ms=0)
        builder.extend([encode_metadata_record(self._record, 0)])
        return list(read_batches(builder.build()))

    def load_snapshot(self, snapshot: OffsetAndEpoch) -> Snapshot:
        assert snapshot == self.latest_snapshot
        values = [encode_metadata_record(record, 0) for record in self._in_snapshot]
        chunks = write_snapshot(values, epoch=snapshot.epoch, last_contained_log_timestamp=0, clock=lambda: 0)
        return read_snapshot(b"".join(chunks), file="made")


A_TOPIC = TopicRecord(name="a", topic_id=TOPIC_ID)


def test_a_snapshot_that_is_not_the_image_at_its_end():
    committed = Replica(1, Raft(high_watermark=1), SnapshotLog(A_TOPIC))
    formatted = Replica(2, log=SnapshotLog(A_TOPIC, OffsetAndEpoch(0, 0)))
    good = Replica(3, log=SnapshotLog(A_TOPIC, OffsetAndEpoch(1, 1), A_TOPIC))
    bad = Replica(4, log=SnapshotLog(A_TOPIC, OffsetAndEpoch(1, 1)))
    # Nothing can be said of the first one before something is committed up to its end.
    assert "of node 4 is not the image" in violation(SnapshotEqualsLog(), formatted, good, committed, bad)
    assert "of node 4 is not the image" in violation(SnapshotEqualsLog(), good, bad, committed)


def test_a_snapshot_of_what_was_never_committed():
    checker = SnapshotEqualsLog()
    checker.after_step(Replica(3, log=SnapshotLog(A_TOPIC, OffsetAndEpoch(1, 1), A_TOPIC)))
    with pytest.raises(InvariantViolatedError, match="ends where nothing is committed"):
        checker.at_end({})


def test_logs_that_differ_in_the_end():
    checker = LogsMatch()
    shorter = Log(1, 1, 3)
    shorter.start_offset = 2
    checker.at_end({1: Replica(1, log=Log(1, 1, 3)), 2: Replica(2, log=shorter)})
    with pytest.raises(InvariantViolatedError, match="nodes 1 and 2 differ in the batch of offset 2"):
        checker.at_end({1: Replica(1, log=Log(1, 1, 3)), 2: Replica(2, log=Log(1, 1, 2))})


def test_a_broker_that_cannot_run_what_is_finalized():
    def registered(highest: int) -> MetadataImage:
        feature = BrokerFeature("metadata.version", 1, highest)
        level = FeatureLevelRecord(name="metadata.version", feature_level=20)
        return image(level, RegisterBrokerRecord(broker_id=7, features=[feature]))

    replicas = Replica(1, image=registered(20)), Replica(1, image=registered(19))
    problem = violation(FinalizedWithinSupported(), *replicas)
    assert "broker 7 supports metadata.version 1 to 19, finalized is 20" in problem


@pytest.mark.parametrize(
    ("isr", "leader", "problem"),
    [
        ([7, 8], 7, None),
        ([7], -1, None),
        ([7, 9], 7, "the ISR of a-0 is (7, 9), its replicas are (7, 8)"),
        ([7], 8, "a-0 is led by 8, its ISR is (7,)"),
        ([8], 8, "a-0 is led by 8, which is fenced"),
    ],
)
def test_partitions_whose_leader_cannot_serve(isr, leader, problem):
    records = [
        RegisterBrokerRecord(broker_id=7, fenced=False),
        RegisterBrokerRecord(broker_id=8, fenced=True),
        A_TOPIC,
        PartitionRecord(partition_id=0, topic_id=TOPIC_ID, replicas=(7, 8), isr=tuple(isr), leader=leader),
    ]
    replica = Replica(1, image=image(*records))
    if problem is None:
        LeadersServe().after_step(replica)
    else:
        assert problem in violation(LeadersServe(), replica)


def test_partitions_that_no_decision_has_judged_yet_may_have_a_leader_that_is_fenced(monkeypatch):
    monkeypatch.setattr(broker_sweeps, "PARTITIONS_PER_SLICE", 1)
    records = [
        RegisterBrokerRecord(broker_id=8, fenced=True),
        A_TOPIC,
        PartitionRecord(partition_id=0, topic_id=TOPIC_ID, replicas=(7, 8), isr=(8,), leader=8),
    ]
    replica, checker = Replica(1, image=image(*records)), LeadersServe()
    checker.after_step(replica)
    with pytest.raises(InvariantViolatedError, match="a-0 is led by 8, which is fenced"):
        checker.at_end({1: replica})


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
        (TopicHistory(topic_id=TOPIC_ID, is_deletion_requested=True), topic_with(None)),
        (TopicHistory(topic_id=TOPIC_ID, is_deletion_requested=True), EMPTY),
        (TopicHistory(topic_id=TOPIC_ID, is_deletion_requested=True, is_deletion_acknowledged=True), EMPTY),
        (TopicHistory(TOPIC_ID, config=Register(["1", "2"], 1)), topic_with("2")),
        (TopicHistory(TOPIC_ID, config=Register(["1", "2"], 2)), topic_with("2")),
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
            TopicHistory(topic_id=TOPIC_ID, is_deletion_requested=True, is_deletion_acknowledged=True),
            topic_with(None),
            "is there, its deletion was acknowledged",
        ),
        (TopicHistory(TOPIC_ID, config=Register(["1"], 1)), topic_with(None), "is None"),
        (TopicHistory(TOPIC_ID, config=Register(["1", "2"], 2)), topic_with("1"), "is 1"),
    ],
)
def test_acknowledged_writes_that_are_gone(history, found, problem):
    with pytest.raises(InvariantViolatedError, match=problem):
        survive(history, found)


def test_a_repeated_request_may_set_an_older_value():
    history = TopicHistory(TOPIC_ID, config=Register(["1", "2"], 2))
    survive(history, topic_with("1"), are_requests_repeated=True)


@pytest.mark.parametrize(
    ("history", "problem"),
    [
        (History(quotas={"u": Register([1.0], 1)}), "consumer_byte_rate of u is None, acknowledged was 1.0"),
        (History(scram_iterations={"u": Register([4096], 1)}), "SCRAM iterations of u is None"),
        (History(acls={"u": Register([True], 1)}), "ACL of u is False, acknowledged was True"),
        (
            History({"a": TopicHistory(TOPIC_ID, partition_count=Register([2], 1))}),
            "partition count of topic a is 0, acknowledged was 2",
        ),
    ],
)
def test_other_acknowledged_writes_that_are_gone(history, problem):
    checker = AckedWritesSurvive(history, are_requests_repeated=False)
    with pytest.raises(InvariantViolatedError, match=problem):
        checker.at_end({1: Replica(1, image=topic_with(None))})
