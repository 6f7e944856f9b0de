"""How a broker asks coordinators about transactions before it appends their first records."""

from types import SimpleNamespace

import pytest
from broker_views import LISTENER, A, broker_records
from data_logs import marker, opened, produced
from fake_replicas import FakeReplicas
from metadata_images import image_of

from falkirk.node.broker.transaction_verification.add_partitions_to_txn_manager import SupportedOperation
from falkirk.node.broker.transaction_verification.transaction_verification import (
    ENABLED,
    TransactionalAppend,
    TransactionVerification,
)
from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import AddPartitionsToTxnResponse, ConfigRecord, PartitionRecord, TopicRecord
from falkirk.protocol.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from falkirk.protocol.topic_partition import TopicIdPartition
from falkirk.storage.log.append import AppendOrigin, AppendRefusedError
from falkirk.versions.release import TRANSACTION_STATE, Release

STATE = b"s" * 16
A0, A1 = TopicIdPartition(A, "a", 0), TopicIdPartition(A, "a", 1)
BUSY = ErrorCode.CONCURRENT_TRANSACTIONS
COORDINATOR = Endpoint("node2", 9092)


class FakeOutbound:
    """Keeps requests until they are answered."""

    def __init__(self):
        self.sent = []

    def send(self, purpose, endpoint, message, *, done, listener, **limits):
        assert (purpose, listener, set(limits)) == ("add-partitions-to-txn", LISTENER, {"timeout_ms", "now_ms"})
        self.sent.append((endpoint, message, done))

    def answer(self, answer):
        _, message, done = self.sent.pop(0)
        done(answer(message) if callable(answer) else answer)


class Broker:
    """Broker 1 leads both partitions of topic `a`; broker 2 coordinates all transactions."""

    def __init__(self, *, records=(), properties=None, release="4.3", leader=2):
        fields = {"replicas": (1, 2), "isr": (1, 2), "leader_epoch": 0, "partition_epoch": 0}
        state = [TopicRecord(TRANSACTION_STATE, STATE), PartitionRecord(0, STATE, leader=leader, **fields)]
        self.image = image_of(*broker_records(), *state, *records)
        self.now_ms = 1_000
        self.outbound = FakeOutbound()
        self.facts = []
        self.replicas = FakeReplicas()
        self.replicas.context = self
        self.logs = {key: opened(topic_partition=key.topic_partition) for key in (A0, A1)}
        self.replicas.current = {key.topic_partition: log for key, log in self.logs.items()}
        self.config = SimpleNamespace(release=Release.parse(release), properties=properties or {}, node_id=1)
        self.settings = SimpleNamespace(inter_broker_listener_name=LISTENER)
        self.effects = self.facts.append
        self.verification = TransactionVerification(self.replicas, self.outbound)

    def alive(self, broker_id):
        return self.image.cluster.brokers.get(broker_id)

    def verify(self, *keys, epoch=0, sequence=0, producer_id=9, operation=SupportedOperation.GENERIC_ERROR, name="t"):
        """Begin; return a list that gets the verdict."""
        verdicts = []
        self.verification.verify(
            TransactionalAppend(
                transactional_id=name,
                producer_id=producer_id,
                producer_epoch=epoch,
                sequences=dict.fromkeys(keys, sequence),
                operation=operation,
                done=verdicts.append,
            )
        )
        return verdicts

    def append(self, key, verdict, *, sequence=0, epoch=0):
        batch = produced(producer=(9, epoch, sequence), is_transactional=True)
        log = self.logs[key]
        return log.append_as_leader(batch, 0, self.now_ms, origin=AppendOrigin.CLIENT, guard=verdict.guards[key])


def answer(error=ErrorCode.NONE, *, only=None):
    """Answer that all partitions (or the one of this index) have this error."""

    def make(request):
        results = []
        for transaction in request.transactions:
            topics = [
                AddPartitionsToTxnTopicResult(
                    topic.name,
                    [
                        AddPartitionsToTxnPartitionResult(index, error if only in (None, index) else 0)
                        for index in topic.partitions
                    ],
                )
                for topic in transaction.topics
            ]
            results.append(AddPartitionsToTxnResult(transaction.transactional_id, topics))
        return AddPartitionsToTxnResponse(results_by_transaction=results)

    return make


def asked(message):
    return [
        (each.transactional_id, each.producer_id, each.producer_epoch, each.verify_only, topic.name, topic.partitions)
        for each in message.transactions
        for topic in each.topics
    ]


def test_the_coordinator_is_asked_once_for_a_transaction():
    broker = Broker()
    verdicts = broker.verify(A0, A1)
    ((endpoint, message, _),) = broker.outbound.sent
    assert (endpoint, asked(message)) == (COORDINATOR, [("t", 9, 0, True, "a", (0, 1))])
    assert verdicts == []
    broker.outbound.answer(answer())
    (verdict,) = verdicts
    assert verdict.errors == {}
    for key in (A0, A1):
        broker.append(key, verdict)
    (again,) = broker.verify(A0, A1, sequence=1)
    assert broker.outbound.sent == []
    broker.append(A0, again, sequence=1)


def test_a_partition_that_the_coordinator_does_not_know_is_refused():
    broker = Broker()
    verdicts = broker.verify(A0, A1)
    broker.outbound.answer(answer(ErrorCode.INVALID_TXN_STATE, only=1))
    assert verdicts[0].errors == {A1: ErrorCode.INVALID_TXN_STATE}
    broker.append(A0, verdicts[0])


@pytest.mark.parametrize(
    ("given", "operation", "error"),
    [
        (answer(ErrorCode.PRODUCER_FENCED), SupportedOperation.GENERIC_ERROR, ErrorCode.INVALID_PRODUCER_EPOCH),
        (answer(ErrorCode.TRANSACTION_ABORTABLE), SupportedOperation.DEFAULT_ERROR, ErrorCode.INVALID_TXN_STATE),
        (answer(ErrorCode.TRANSACTION_ABORTABLE), SupportedOperation.GENERIC_ERROR, ErrorCode.TRANSACTION_ABORTABLE),
        (
            answer(BUSY),
            SupportedOperation.DEFAULT_ERROR,
            ErrorCode.CONCURRENT_TRANSACTIONS,
        ),
        (RequestFailure("it is gone"), SupportedOperation.DEFAULT_ERROR, ErrorCode.NETWORK_EXCEPTION),
        (
            AddPartitionsToTxnResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
            SupportedOperation.DEFAULT_ERROR,
            ErrorCode.INVALID_TXN_STATE,
        ),
        (
            AddPartitionsToTxnResponse(error_code=ErrorCode.NOT_COORDINATOR),
            SupportedOperation.DEFAULT_ERROR,
            ErrorCode.NOT_COORDINATOR,
        ),
        (AddPartitionsToTxnResponse(), SupportedOperation.DEFAULT_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_errors_are_those_that_the_client_knows(given, operation, error):
    broker = Broker()
    verdicts = broker.verify(A0, operation=operation)
    broker.outbound.answer(given)
    assert verdicts[0].errors == {A0: error}


def test_a_coordinator_that_cannot_verify_is_not_needed():
    broker = Broker()
    verdicts = broker.verify(A0)
    broker.outbound.answer(RequestFailure("too old", is_unsupported_version=True))
    assert verdicts[0].errors == {}
    broker.append(A0, verdicts[0])


def test_a_connected_coordinator_that_cannot_verify_answers_all_that_waits_at_once():
    broker = Broker()
    first, second, third = broker.verify(A0), broker.verify(A1), broker.verify(A0, producer_id=10, name="u")
    too_old = RequestFailure("too old", is_unsupported_version=True)
    (_, _, done), broker.outbound.sent = broker.outbound.sent[0], []
    # Now that it is connected, what it offers is known.
    broker.outbound.send = lambda *_, done, **_limits: done(too_old)
    done(too_old)
    assert [verdict.errors for verdicts in (first, second, third) for verdict in verdicts] == [{}, {}, {}]
    assert broker.verify(A1, producer_id=11, name="v")[0].errors == {}


def test_without_a_coordinator_there_is_no_verdict_but_an_error():
    broker = Broker(leader=-1)
    assert broker.verify(A0)[0].errors == {A0: ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert broker.verify(A0)[0].errors == {A0: ErrorCode.COORDINATOR_NOT_AVAILABLE}


@pytest.mark.parametrize("node", ["1", ""])
def test_verification_can_be_turned_off_while_the_broker_runs(node):
    off = ConfigRecord(4, node, ENABLED, "false")
    for broker in (Broker(properties={ENABLED: "false"}), Broker(records=[off])):
        (verdict,) = broker.verify(A0)
        broker.append(A0, verdict)
    on = ConfigRecord(4, "1", ENABLED, "true")
    assert Broker(records=[off, on], properties={ENABLED: "false"}).verify(A0) == []


def test_what_a_producer_sends_meanwhile_keeps_its_place():
    broker = Broker()
    first, second = broker.verify(A0), broker.verify(A0, sequence=1)
    other = broker.verify(A1, producer_id=10, name="u")
    order = []

    class Ordered(list):
        def append(self, verdict):
            super().append(verdict)
            order.append(self)

    third = Ordered()
    broker.verification.verify(
        TransactionalAppend(
            transactional_id="t",
            producer_id=9,
            producer_epoch=0,
            sequences={A1: 0},
            operation=SupportedOperation.GENERIC_ERROR,
            done=third.append,
        )
    )
    assert len(broker.outbound.sent) == 1
    broker.outbound.answer(answer())
    assert (len(first), len(second), len(other)) == (1, 0, 0)
    # What waited is asked for together: the second batch, whose transaction nobody has begun, and the other producer.
    assert asked(broker.outbound.sent[0][1]) == [("u", 10, 0, True, "a", (1,)), ("t", 9, 0, True, "a", (0,))]
    broker.append(A0, first[0])
    broker.outbound.answer(answer())
    assert (len(second), len(other), third) == (1, 1, [])
    broker.append(A0, second[0], sequence=1)
    broker.outbound.answer(answer())
    assert len(third) == 1


def test_of_two_producers_of_one_transactional_id_the_older_is_refused():
    broker = Broker()
    broker.verify(A1, producer_id=1, name="other")
    older = broker.verify(A0, producer_id=9, epoch=0)
    newer = broker.verify(A0, producer_id=10, epoch=1)
    assert older[0].errors == {A0: ErrorCode.INVALID_PRODUCER_EPOCH}
    assert broker.verify(A0, producer_id=11, epoch=0)[0].errors == {A0: ErrorCode.INVALID_PRODUCER_EPOCH}
    same = broker.verify(A0, producer_id=12, epoch=1)
    assert newer[0].errors == {A0: ErrorCode.NETWORK_EXCEPTION}
    broker.outbound.answer(answer())
    broker.outbound.answer(answer())
    assert same[0].errors == {}


def test_a_coordinator_that_is_busy_is_asked_again_to_add_a_partition():
    broker = Broker()
    verdicts = broker.verify(A0, operation=SupportedOperation.ADD_PARTITION)
    assert asked(broker.outbound.sent[0][1]) == [("t", 9, 0, False, "a", (0,))]
    broker.outbound.answer(answer(BUSY))
    assert (verdicts, broker.verification.next_wakeup_ms) == ([], 1_020)
    broker.now_ms = 1_019
    broker.verification.tick()
    assert broker.outbound.sent == []
    broker.now_ms = 1_020
    broker.verification.tick()
    broker.outbound.answer(answer())
    assert (verdicts[0].errors, broker.verification.next_wakeup_ms) == ({}, None)


@pytest.mark.parametrize(("release", "after_ms"), [("4.3", 100), ("3.9", 0)])
def test_a_coordinator_that_stays_busy_is_reported(release, after_ms):
    broker = Broker(release=release)
    verdicts = broker.verify(A0, operation=SupportedOperation.ADD_PARTITION)
    broker.now_ms += after_ms
    broker.outbound.answer(answer(BUSY))
    assert verdicts[0].errors == {A0: ErrorCode.CONCURRENT_TRANSACTIONS}


def test_a_partition_that_is_not_led_here_or_has_seen_a_newer_epoch_is_not_asked_about():
    broker = Broker()
    first = broker.verify(A0, epoch=5)
    broker.outbound.answer(answer())
    broker.append(A0, first[0], epoch=5)
    del broker.replicas.current[A1.topic_partition]
    (verdict,) = broker.verify(A0, A1, epoch=4)
    assert verdict.errors == {A0: ErrorCode.INVALID_PRODUCER_EPOCH, A1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert broker.outbound.sent == []


def test_a_verdict_that_comes_after_the_marker_appends_nothing():
    broker = Broker()
    verdicts = broker.verify(A0)
    log = broker.logs[A0]
    log.append_as_leader(marker(0, 0, (9, 0), is_commit=False), 0, broker.now_ms, origin=AppendOrigin.COORDINATOR)
    broker.outbound.answer(answer())
    with pytest.raises(AppendRefusedError, match="not part of a transaction"):
        broker.append(A0, verdicts[0])


def test_errors_of_a_coordinator_that_are_not_known_here_refuse_the_records():
    for error in (answer(12_345), AddPartitionsToTxnResponse(error_code=12_345)):
        broker = Broker()
        verdicts = broker.verify(A0)
        broker.outbound.answer(error)
        assert verdicts[0].errors == {A0: ErrorCode.UNKNOWN_SERVER_ERROR}
