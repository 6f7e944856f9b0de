"""Requests to transaction coordinators: what a client may, and what reaches the shard."""

import pytest
from broker_views import LISTENER, ask_broker, broker_view
from fake_groups import FakeTransactions
from node_views import context_of
from topic_authorizers import resource_authorizer

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.coordinator.transactions.transaction_metadata import TransactionMetadata
from falkirk.metadata.acls.acl_types import CLUSTER_NAME, AclOperation, ResourceType
from falkirk.node.handlers.routes import ROUTES
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    EndTxnRequest,
    EndTxnResponse,
    ListTransactionsRequest,
)
from falkirk.protocol.messages import describe_transactions_response as described
from falkirk.protocol.messages import list_transactions_response as listed
from falkirk.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from falkirk.protocol.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.versions.release import CONSUMER_OFFSETS

ID, TOPIC, GROUP = ResourceType.TRANSACTIONAL_ID, ResourceType.TOPIC, ResourceType.GROUP
WRITE, READ, DESCRIBE = AclOperation.WRITE, AclOperation.READ, AclOperation.DESCRIBE


def add(topics, name="tx", **how):
    """Send AddPartitionsToTxn v3 of (topic, partitions); return the error of each partition."""
    asked = [AddPartitionsToTxnTopic(topic, partitions) for topic, partitions in topics]
    request = AddPartitionsToTxnRequest(v3_and_below_transactional_id=name, v3_and_below_topics=asked)
    answer = ask_broker(broker_view(**how), request, 3)
    return {
        (topic.name, each.partition_index): ErrorCode(each.partition_error_code).name
        for topic in answer.results_by_topic_v3_and_below
        for each in topic.results_by_partition
    }


def test_nothing_is_added_if_one_partition_may_not_be():
    authorizer = resource_authorizer((ID, "tx", WRITE), (TOPIC, "a", WRITE), (TOPIC, CONSUMER_OFFSETS, WRITE))
    transactions = FakeTransactions()
    found = add(
        [("a", (0, 9)), ("b", (0,)), (CONSUMER_OFFSETS, (0,))], authorizer=authorizer, transactions=transactions
    )
    assert found == {
        ("a", 0): "OPERATION_NOT_ATTEMPTED",
        ("a", 9): "UNKNOWN_TOPIC_OR_PARTITION",
        ("b", 0): "TOPIC_AUTHORIZATION_FAILED",
        (CONSUMER_OFFSETS, 0): "TOPIC_AUTHORIZATION_FAILED",
    }
    assert transactions.asked == []


def test_a_producer_needs_a_right_on_its_id_and_an_id():
    assert add([("a", (0,))], authorizer=resource_authorizer((TOPIC, "a", WRITE))) == {
        ("a", 0): "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
    }
    assert add([("a", (0,))], name="") == {("a", 0): "INVALID_REQUEST"}


@pytest.mark.parametrize(
    ("error", "told"),
    [("NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR"), ("NOT_ENOUGH_REPLICAS", "COORDINATOR_NOT_AVAILABLE")],
)
def test_errors_of_the_log_are_errors_of_every_partition(error, told):
    transactions = FakeTransactions({"tx": ErrorCode[error]})
    assert add([("a", (0, 1))], transactions=transactions) == {("a", 0): told, ("a", 1): told}


def test_brokers_add_and_verify_partitions_of_many_transactions():
    transactions = FakeTransactions({"x": AddPartitionsToTxnResult("x"), "y": ErrorCode.NOT_COORDINATOR})
    asked = [
        AddPartitionsToTxnTransaction(name, topics=[AddPartitionsToTxnTopic("a", (0,))], verify_only=True)
        for name in ("x", "y")
    ]
    request = AddPartitionsToTxnRequest(transactions=asked)
    cluster_action = resource_authorizer((ResourceType.CLUSTER, CLUSTER_NAME, AclOperation.CLUSTER_ACTION))
    answer = ask_broker(broker_view(transactions=transactions, authorizer=cluster_action), request, 5)
    assert [result.transactional_id for result in answer.results_by_transaction] == ["x", "y"]
    (failed,) = answer.results_by_transaction[1].topic_results[0].results_by_partition
    assert failed.partition_error_code == ErrorCode.NOT_COORDINATOR
    client = resource_authorizer((ID, "x", WRITE), (TOPIC, "a", WRITE))
    refused = ask_broker(broker_view(transactions=transactions, authorizer=client), request, 5)
    assert refused.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_a_partition_that_is_named_very_often_is_added_once_and_answered_as_named():
    results = [AddPartitionsToTxnTopicResult("a", [AddPartitionsToTxnPartitionResult(0, ErrorCode.PRODUCER_FENCED)])]
    transactions = FakeTransactions({"tx": AddPartitionsToTxnResult("tx", results)})
    asked = [AddPartitionsToTxnTopic("a", (0,) * 5_000), AddPartitionsToTxnTopic("a", (1, 0))]
    request = AddPartitionsToTxnRequest(v3_and_below_transactional_id="tx", v3_and_below_topics=asked)
    answer = ask_broker(broker_view(transactions=transactions), request, 3)
    ((_, arguments),) = transactions.asked
    assert arguments[1].topics == [AddPartitionsToTxnTopic("a", (0, 1))]
    many, few = (topic.results_by_partition for topic in answer.results_by_topic_v3_and_below)
    assert len(many) == 5_000
    assert [each.partition_index for each in few] == [1, 0]
    assert {each.partition_error_code for each in (*many, *few)} == {ErrorCode.PRODUCER_FENCED}


def test_the_groups_partition_is_added():
    transactions = FakeTransactions({"tx": AddOffsetsToTxnResponse()})
    answer = ask_broker(broker_view(transactions=transactions), AddOffsetsToTxnRequest("tx", 7, 0, "g"), 3)
    assert answer.error_code == ErrorCode.NONE
    ((name, (_, _, partition)),) = transactions.asked
    assert (name, partition) == ("add_offsets", TopicPartition(CONSUMER_OFFSETS, 1))


@pytest.mark.parametrize(
    ("rights", "error"),
    [
        ([(GROUP, "g", READ)], "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
        ([(ID, "tx", WRITE)], "GROUP_AUTHORIZATION_FAILED"),
    ],
)
def test_offsets_need_a_right_on_the_id_and_the_group(rights, error):
    view = broker_view(authorizer=resource_authorizer(*rights))
    assert ErrorCode(ask_broker(view, AddOffsetsToTxnRequest("tx", 7, 0, "g"), 3).error_code).name == error


def test_the_shard_ends_a_transaction_of_whoever_may_write_with_its_id():
    transactions = FakeTransactions({"tx": EndTxnResponse(producer_id=7, producer_epoch=1)})
    answer = ask_broker(broker_view(transactions=transactions), EndTxnRequest("tx", 7, 0, committed=True), 5)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (ErrorCode.NONE, 7, 1)
    refused = ask_broker(broker_view(authorizer=resource_authorizer((ID, "tx", READ))), EndTxnRequest("tx"), 3)
    assert refused.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert ask_broker(broker_view(), EndTxnRequest(""), 3).error_code == ErrorCode.INVALID_REQUEST


def test_ids_and_topics_are_described_as_far_as_allowed():
    topics = [described.TopicData("a", (0,)), described.TopicData("b", (0,))]
    state = described.TransactionState(transactional_id="tx", transaction_state="Ongoing", topics=topics)
    answers = {"tx": DescribeTransactionsResponse(transaction_states=[state]), "away": ErrorCode.NOT_COORDINATOR}
    rights = [(ID, "tx", DESCRIBE), (ID, "away", DESCRIBE), (ID, "", DESCRIBE), (TOPIC, "a", DESCRIBE)]
    view = broker_view(transactions=FakeTransactions(answers), authorizer=resource_authorizer(*rights))
    found = ask_broker(view, DescribeTransactionsRequest(("tx", "no", "away", "")), 0).transaction_states
    assert [(each.transactional_id, ErrorCode(each.error_code).name) for each in found] == [
        ("tx", "NONE"),
        ("no", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
        ("away", "NOT_COORDINATOR"),
        ("", "INVALID_REQUEST"),
    ]
    assert [topic.topic for topic in found[0].topics] == ["a"]


def test_ids_are_listed_as_far_as_allowed_and_unknown_states_are_named():
    transactions = FakeTransactions({None: [ongoing(name) for name in ("tx", "no")]})
    view = broker_view(transactions=transactions, authorizer=resource_authorizer((ID, "tx", DESCRIBE)))
    answer = ask_broker(view, ListTransactionsRequest(("Ongoing", "Strange")), 1)
    assert answer.transaction_states == [listed.TransactionState("tx", 7, "Ongoing")]
    assert answer.unknown_state_filters == ("Strange",)


def ongoing(name):
    return TransactionMetadata(
        transactional_id=name,
        producer_id=7,
        producer_epoch=0,
        timeout_ms=1,
        last_update_timestamp_ms=0,
        state=TransactionState.ONGOING,
    )


def test_many_ids_are_listed_in_slices():
    transactions = FakeTransactions({None: [ongoing(f"tx-{number}") for number in range(5_000)]})
    answers = []
    request = ListTransactionsRequest(transactional_id_pattern="tx-[0-9]+")
    view = broker_view(transactions=transactions)
    ROUTES[66].handler(view, context_of(request, 2, listener=LISTENER), request).start(answers.append)
    (answer,) = answers
    slices = 0
    for _ in answer.slices:
        slices += 1
    assert slices > 20
    assert len(ask_broker(view, request, 2).transaction_states) == 5_000


def test_a_pattern_of_ids_that_is_none_is_refused():
    view = broker_view(transactions=FakeTransactions({None: [ongoing("tx")]}))
    answer = ask_broker(view, ListTransactionsRequest(transactional_id_pattern="("), 2)
    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_ids_are_not_listed_while_a_partition_loads():
    view = broker_view(transactions=FakeTransactions({None: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}))
    assert ask_broker(view, ListTransactionsRequest(), 1).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
