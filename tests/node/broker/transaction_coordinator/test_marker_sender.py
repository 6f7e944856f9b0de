"""The way of markers to the leaders of partitions: grouped, repeated, and dropped when nobody wants them any more."""

from types import SimpleNamespace

import pytest
from broker_views import broker_records
from metadata_images import image_of

from falkirk.coordinator.runtime.transaction_markers import TransactionMarkers
from falkirk.metadata.image.metadata_image import EMPTY
from falkirk.node.broker.transaction_coordinator.marker_sender import PARTITIONS_MAX, RETRY_BACKOFF_MS, MarkerSender
from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    FenceBrokerRecord,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
    WriteTxnMarkersResponse,
)
from falkirk.protocol.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
)
from falkirk.protocol.topic_partition import TopicPartition

# Broker 1 leads both partitions of "a", broker 2 that of "b".
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
B = b"b" * 16
WRITTEN, LATER = ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS


class World:
    """Broker 1 with its sender. `written`: markers here; `requests`: those to other brokers, with their `done`."""

    def __init__(self, node_id=1):
        self.facts = []
        self.written = []
        self.requests = []
        self.results = []
        self.errors_here = {}
        self.context = SimpleNamespace(
            node_id=node_id,
            now_ms=1_000,
            image=EMPTY,
            effects=self.facts.append,
            wake=lambda: None,
            settings=SimpleNamespace(inter_broker_listener_name="PLAINTEXT"),
            alive=self.alive,
        )
        self.records = broker_records()
        self.sender = MarkerSender(self.context, self, self, 30_000)
        self.learn()

    def alive(self, broker_id):
        broker = self.context.image.cluster.brokers.get(broker_id)
        return None if broker is None or broker.fenced else broker

    def learn(self, *records):
        self.records += records
        self.context.image = image_of(*self.records)
        self.sender.metadata_changed()

    def write(self, marker, partition, done):
        self.written.append((marker.producer_id, partition))
        done(self.errors_here.get(partition, WRITTEN))

    def send(self, purpose, endpoint, message, *, done, **fields):  # noqa: ARG002
        self.requests.append((endpoint.host, message, done))

    def begin(self, producer_id, *partitions, is_wanted=lambda: True):
        markers = TransactionMarkers(
            transactional_id=f"tx-{producer_id}",
            producer_id=producer_id,
            producer_epoch=3,
            is_commit=True,
            coordinator_epoch=4,
            transaction_version=2,
            partitions=partitions,
        )
        self.sender.send(markers, is_wanted, lambda results: self.results.append((producer_id, results)))

    def answer(self, **errors):
        """Answer the oldest request; `errors`: of partitions of "b", by "b0"."""
        _, request, done = self.requests.pop(0)
        done(
            WriteTxnMarkersResponse(
                [
                    WritableTxnMarkerResult(
                        marker.producer_id,
                        [
                            WritableTxnMarkerTopicResult(
                                topic.name,
                                [
                                    WritableTxnMarkerPartitionResult(index, errors.get(f"{topic.name}{index}", WRITTEN))
                                    for index in topic.partition_indexes
                                ],
                            )
                            for topic in marker.topics
                        ],
                    )
                    for marker in request.markers
                ]
            )
        )

    def step(self, ms=0):
        self.context.now_ms += ms
        self.sender.complete()


@pytest.fixture
def world():
    return World()


def test_what_this_broker_leads_is_written_without_a_request(world):
    world.begin(7, A0, A1)
    world.step()
    assert world.written == [(7, A0), (7, A1)]
    assert world.requests == []
    assert world.results == [(7, {A0: WRITTEN, A1: WRITTEN})]
    assert world.sender.next_wakeup_ms is None


def test_markers_of_many_transactions_for_one_broker_share_a_request(world):
    world.begin(7, A0, B0)
    world.begin(8, B0)
    world.step()
    ((host, request, _),) = world.requests
    assert host == "node2"
    assert [
        (marker.producer_id, marker.topics[0].name, marker.topics[0].partition_indexes) for marker in request.markers
    ] == [
        (7, "b", (0,)),
        (8, "b", (0,)),
    ]
    (first, _) = request.markers
    assert (first.producer_epoch, first.transaction_result, first.coordinator_epoch, first.transaction_version) == (
        3,
        True,
        4,
        2,
    )
    world.answer()
    world.step()
    assert world.results == [(7, {A0: WRITTEN}), (7, {B0: WRITTEN}), (8, {B0: WRITTEN})]


def test_one_request_at_a_time_is_under_way_for_a_broker(world):
    world.begin(7, B0)
    world.step()
    world.begin(8, B0)
    world.begin(9, B0)
    world.step()
    assert len(world.requests) == 1
    world.answer()
    world.step()
    ((_, request, _),) = world.requests
    assert [marker.producer_id for marker in request.markers] == [8, 9]


def test_a_request_and_a_step_have_a_limit():
    many = [TopicPartition("many", index) for index in range(PARTITIONS_MAX + 1)]
    world = World()
    fields = {"replicas": (1,), "isr": (1,), "leader_epoch": 0, "partition_epoch": 0}
    world.learn(
        TopicRecord("many", b"m" * 16),
        *(PartitionRecord(index, b"m" * 16, leader=1, **fields) for index in range(len(many))),
    )
    world.begin(7, *many)
    world.step()
    assert len(world.written) == PARTITIONS_MAX
    assert world.sender.next_wakeup_ms <= world.context.now_ms
    world.step()
    assert len(world.written) == PARTITIONS_MAX + 1


def test_a_transaction_without_partitions_is_reported_at_once(world):
    world.begin(7)
    assert world.sender.next_wakeup_ms == world.context.now_ms
    world.step()
    assert world.results == [(7, {})]


@pytest.mark.parametrize("error", [LATER, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_SERVER_ERROR])
def test_what_can_succeed_later_is_sent_again_and_not_reported(world, error):
    world.errors_here[A0] = error
    world.begin(7, A0)
    world.step()
    assert world.results == []
    world.errors_here.clear()
    world.step(RETRY_BACKOFF_MS - 1)
    assert len(world.written) == 1
    assert world.sender.next_wakeup_ms == world.context.now_ms + 1
    world.step(1)
    assert world.results == [(7, {A0: WRITTEN})]


@pytest.mark.parametrize("error", ["INVALID_PRODUCER_EPOCH", "TRANSACTION_COORDINATOR_FENCED", "UNSUPPORTED_VERSION"])
def test_refusals_for_good_are_reported(world, error):
    world.begin(7, B0)
    world.step()
    world.answer(b0=ErrorCode[error])
    world.step()
    assert world.results == [(7, {B0: ErrorCode[error]})]


def test_an_error_that_nobody_expects_is_logged_as_one(world):
    world.errors_here[A0] = ErrorCode.CORRUPT_MESSAGE
    world.errors_here[A1] = LATER
    world.begin(7, A0, A1)
    world.step()
    assert {(fact.level, fact.fields["reason"]) for fact in world.facts} == {
        ("error", "CORRUPT_MESSAGE"),
        ("info", "NOT_ENOUGH_REPLICAS"),
    }


def test_markers_of_a_failed_request_go_to_the_leader_of_that_time(world):
    world.begin(7, B0)
    world.step()
    _, _, done = world.requests.pop()
    world.learn(PartitionChangeRecord(0, B, leader=1))
    done(RequestFailure("gone"))
    world.step()
    assert (world.written, world.requests) == ([(7, B0)], [])


def test_a_broker_that_cannot_be_reached_is_left_alone_for_a_while(world):
    world.begin(7, B0)
    world.step()
    world.requests.pop()[2](RequestFailure("gone"))
    world.step(RETRY_BACKOFF_MS - 1)
    assert world.requests == []
    world.step(1)
    assert len(world.requests) == 1


def test_a_partition_without_a_leader_waits_for_one(world):
    world.learn(FenceBrokerRecord(2, 10))
    world.begin(7, B0)
    world.step(60_000)
    assert (world.requests, world.sender.counts, world.sender.next_wakeup_ms) == ([], (1, 0), None)
    world.learn(PartitionChangeRecord(0, B, leader=1))
    world.step()
    assert (world.written, world.sender.counts) == ([(7, B0)], (0, 0))


def test_a_partition_that_is_gone_needs_no_marker(world):
    world.begin(7, TopicPartition("no", 0), TopicPartition("a", 9))
    world.step()
    assert world.results == [(7, {TopicPartition("no", 0): WRITTEN, TopicPartition("a", 9): WRITTEN})]


def test_nothing_is_sent_or_reported_that_is_not_wanted_any_more(world):
    wanted = True
    world.begin(7, A0, B0, is_wanted=lambda: wanted)
    world.step()
    wanted = False
    world.answer(b0=LATER)
    world.begin(8, A0, is_wanted=lambda: wanted)
    world.step(RETRY_BACKOFF_MS)
    assert world.written == [(7, A0)]
    assert world.requests == []
    assert world.results == [(7, {A0: WRITTEN})]
    assert world.sender.counts == (0, 0)
