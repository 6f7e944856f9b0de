"""Changes of in-sync replicas on their way to the controller."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

from falkirk.node.broker.replication import alter_partition_sender
from falkirk.node.broker.replication.alter_partition_sender import RETRY_BACKOFF_MS, AlterPartitionSender
from falkirk.node.broker.replication.isr import AlteredIsr, ProposedIsr
from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import AlterPartitionRequest, AlterPartitionResponse
from falkirk.protocol.messages.alter_partition_response import PartitionData, TopicData
from falkirk.protocol.topic_partition import TopicIdPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.protocol.schema import WireMessage

A, B = TopicIdPartition(b"t" * 16, "t", 0), TopicIdPartition(b"t" * 16, "t", 1)
PROPOSED = ProposedIsr(brokers={1: 11, 2: 22}, leader_epoch=3, partition_epoch=4, leader_recovery_state=0, added=2)


class Controller:
    """A channel to a controller, and the sender that uses it."""

    def __init__(self) -> None:
        self.sent: list[tuple[AlterPartitionRequest, Callable[[WireMessage | RequestFailure], None]]] = []
        self.is_known = True
        self.facts: list[str] = []
        self.context = SimpleNamespace(
            node_id=1,
            broker_epoch=11,
            now_ms=0,
            wake=lambda: None,
            effects=lambda fact: self.facts.append(fact.event),
        )
        self.sender = AlterPartitionSender(self.context, self)
        self.answers: list[tuple[TopicIdPartition, AlteredIsr | ErrorCode]] = []

    def send(self, message, *, timeout_ms, done, fit):
        assert timeout_ms > 0
        if not self.is_known:
            return False
        self.fit = fit
        self.sent.append((message, done))
        return True

    def submit(self, partition: TopicIdPartition) -> None:
        self.sender.submit(partition, PROPOSED, lambda answer: self.answers.append((partition, answer)))

    def tick(self, after_ms: int = 0) -> None:
        self.context.now_ms += after_ms
        self.sender.tick()

    def answer(self, *partitions: PartitionData, error: int = 0) -> None:
        _, done = self.sent.pop()
        done(AlterPartitionResponse(error_code=error, topics=[TopicData("", A.topic_id, list(partitions))]))


def made(index: int) -> PartitionData:
    return PartitionData(partition_index=index, leader_id=1, leader_epoch=3, isr=(1, 2), partition_epoch=5)


def test_all_that_waits_goes_in_one_request_and_the_next_one_after_its_answer():
    controller = Controller()
    controller.submit(A)
    controller.submit(B)
    controller.tick()
    request, _ = controller.sent[0]
    assert (request.broker_id, request.broker_epoch) == (1, 11)
    assert [partition.partition_index for partition in request.topics[0].partitions] == [0, 1]

    controller.tick()
    assert len(controller.sent) == 1

    controller.answer(made(0), made(1))
    altered = AlteredIsr(isr=(1, 2), leader_epoch=3, partition_epoch=5, leader_recovery_state=0)
    assert controller.answers == [(A, altered), (B, altered)]
    assert controller.sender.next_wakeup_ms is None


def test_very_many_changes_go_in_several_requests(monkeypatch):
    monkeypatch.setattr(alter_partition_sender, "CHANGES_MAX", 2)
    controller = Controller()
    for index in range(5):
        controller.submit(TopicIdPartition(A.topic_id, "t", index))
    sent = []
    for _ in range(3):
        controller.tick()
        sent.append([partition.partition_index for partition in controller.sent[0][0].topics[0].partitions])
        controller.answer(*map(made, sent[-1]))
        assert len(controller.answers) == sum(map(len, sent))
    assert sent == [[0, 1], [2, 3], [4]]


def test_the_isr_goes_with_broker_epochs_where_the_version_knows_them():
    controller = Controller()
    controller.submit(A)
    controller.tick()
    request, _ = controller.sent[0]

    controller.fit(request, 3)
    (partition,) = request.topics[0].partitions
    assert [(one.broker_id, one.broker_epoch) for one in partition.new_isr_with_epochs] == [(1, 11), (2, 22)]

    controller.fit(request, 2)
    assert (partition.new_isr, partition.new_isr_with_epochs) == ((1, 2), [])


def test_a_second_change_of_a_partition_is_not_attempted_while_one_is_under_way():
    controller = Controller()
    controller.submit(A)
    controller.submit(A)

    assert controller.answers == [(A, ErrorCode.OPERATION_NOT_ATTEMPTED)]


def test_without_an_answer_or_with_an_error_of_the_whole_it_is_put_again():
    controller = Controller()
    controller.submit(A)
    for failure in (RequestFailure("gone"), ErrorCode.STALE_BROKER_EPOCH, ErrorCode.UNKNOWN_SERVER_ERROR):
        controller.tick(RETRY_BACKOFF_MS)
        if isinstance(failure, RequestFailure):
            controller.sent.pop()[1](failure)
        else:
            controller.answer(error=failure)
        controller.tick(RETRY_BACKOFF_MS - 1)
        assert controller.sent == []
        controller.context.now_ms += 1 - RETRY_BACKOFF_MS
    assert controller.answers == []

    controller.tick(RETRY_BACKOFF_MS)
    controller.answer(made(0))
    assert len(controller.answers) == 1


def test_a_partition_that_is_left_out_of_the_answer_is_put_again():
    controller = Controller()
    controller.submit(A)
    controller.submit(B)
    controller.tick()
    controller.answer(made(1))
    assert [partition for partition, _ in controller.answers] == [B]

    controller.tick(RETRY_BACKOFF_MS)

    request, _ = controller.sent[0]
    assert [partition.partition_index for partition in request.topics[0].partitions] == [0]


def test_an_error_of_a_partition_is_its_own():
    controller = Controller()
    controller.submit(A)
    controller.submit(B)
    controller.tick()

    controller.answer(PartitionData(0, ErrorCode.INELIGIBLE_REPLICA), made(1))

    assert controller.answers[0][1] is ErrorCode.INELIGIBLE_REPLICA
    assert controller.facts == ["isr-change-refused"]


def test_it_waits_for_a_controller_to_be_known():
    controller = Controller()
    controller.is_known = False
    controller.submit(A)
    controller.tick()
    assert controller.sender.next_wakeup_ms == RETRY_BACKOFF_MS

    controller.is_known = True
    controller.tick(RETRY_BACKOFF_MS)

    assert len(controller.sent) == 1
