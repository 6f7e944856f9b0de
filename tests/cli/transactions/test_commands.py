"""`falkirk transactions` as a shell sees it; `tests/interop/test_transaction_tools.py` has the real tool as judge."""

import json

import pytest
from fake_node import ranges
from group_servers import GroupServers

from falkirk.cli.transactions.views import listing_table
from falkirk.client.transactions import TransactionListing
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    DescribeProducersResponse,
    DescribeTransactionsResponse,
    ListTransactionsResponse,
    WriteTxnMarkersResponse,
    describe_producers_response,
    describe_transactions_response,
    list_transactions_response,
    write_txn_markers_response,
)

API_RANGES = ranges(
    api3="0-12", api10="0-6", api18="0-4", api27="0-1", api60="0-1", api61="0-0", api65="0-0", api66="0-1"
)
HUNG_MS = 1_600_000_000_000


@pytest.fixture
def servers():
    """Transaction `t` of producer 7 has orders-0; in orders-1 it is open, too, and nobody will end it."""
    with GroupServers(API_RANGES).running() as found:
        listed = list_transactions_response.TransactionState("t", 7, "Ongoing")
        topics = [describe_transactions_response.TopicData("orders", (0,))]
        described = describe_transactions_response.TransactionState(0, "t", "Ongoing", 60_000, HUNG_MS, 7, 3, topics)
        producer = describe_producers_response.ProducerState(7, 3, 4, HUNG_MS, 2, 11)
        partitions = [describe_producers_response.PartitionResponse(index, 0, None, [producer]) for index in (0, 1)]
        found.answers[66] = ListTransactionsResponse(transaction_states=[listed])
        found.answers[65] = DescribeTransactionsResponse(transaction_states=[described])
        found.answers[61] = DescribeProducersResponse(
            topics=[describe_producers_response.TopicResponse("orders", partitions)]
        )
        found.leaders["orders"] = {0: 1, 1: 2}
        yield found


def document(ended):
    assert (ended.exit_code, ended.stderr) == (0, "")
    return json.loads(ended.stdout)


def hanging(falkirk, servers, *options):
    words = ("find-hanging", "--topic", "orders", "--bootstrap-server", servers.servers, "--json", *options)
    return document(falkirk("transactions", *words))["hanging_transactions"]


def test_columns_are_as_wide_as_their_widest_cell_and_end_with_tabs():
    listing = TransactionListing(
        transactional_id="a-long-transactional-id", coordinator_id=1, producer_id=7, state="Empty"
    )
    assert list(listing_table([listing]).text()) == [
        "TransactionalId        \tCoordinator\tProducerId\tTransactionState\t",
        "a-long-transactional-id\t1          \t7         \tEmpty           \t",
    ]
    assert list(listing_table([]).text()) == ["TransactionalId\tCoordinator\tProducerId\tTransactionState\t"]


def test_a_description_has_no_start_where_nothing_is_open(falkirk, servers):
    state = servers.answers[65].transaction_states[0]
    state.transaction_start_time_ms, state.topics = -1, []
    words = ("describe", "--transactional-id", "t", "--bootstrap-server", servers.servers, "--json")
    (described,) = document(falkirk("transactions", *words))["transactions"]
    assert (described["start_time_ms"], described["duration_ms"], described["partitions"]) == (None, None, [])


def test_what_a_coordinator_has_as_its_own_does_not_hang(falkirk, servers):
    found = hanging(falkirk, servers)
    assert [(each["topic"], each["partition"], each["start_offset"]) for each in found] == [("orders", 1, 11)]
    assert hanging(falkirk, servers, "--max-transaction-timeout", "100000000") == []


def test_a_transaction_whose_id_is_gone_hangs_everywhere(falkirk, servers):
    servers.answers[65].transaction_states[0].error_code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert [each["partition"] for each in hanging(falkirk, servers)] == [0, 1]


def test_an_abort_writes_the_marker_of_the_transaction_that_begins_there(falkirk, servers):
    def written(error):
        partition = write_txn_markers_response.WritableTxnMarkerPartitionResult(1, error)
        topic = write_txn_markers_response.WritableTxnMarkerTopicResult("orders", [partition])
        return WriteTxnMarkersResponse(markers=[write_txn_markers_response.WritableTxnMarkerResult(7, [topic])])

    servers.answers[27] = [written(0), written(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)]
    servers.answers[61].topics[0].partitions[1].active_producers[0].coordinator_epoch = -1
    words = ("transactions", "abort", "--topic", "orders", "--partition", "1", "--bootstrap-server", servers.servers)
    ended = falkirk(*words, "--start-offset", "11")
    assert (ended.exit_code, ended.stdout) == (0, "The transaction of producer 7 in orders-1 is aborted.\n")
    ((broker, request),) = servers.of(27)
    (marker,) = request.markers
    assert (broker, marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (2, 7, 3, 0)
    assert (marker.transaction_result, marker.topics[0].name, marker.topics[0].partition_indexes) == (
        False,
        "orders",
        (1,),
    )
    refused = falkirk(*words, "--start-offset", "11")
    assert (refused.exit_code, "CLUSTER_AUTHORIZATION_FAILED" in refused.stderr) == (1, True)
    nowhere = falkirk(*words, "--start-offset", "12")
    assert (nowhere.exit_code, "starting at offset 12 on partition orders-1" in nowhere.stderr) == (1, True)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("find-hanging",), "--topic or --broker-id"),
        (("find-hanging", "--broker-id", "1", "--partition", "0"), "--partition needs --topic"),
        (("abort", "--topic", "t", "--partition", "0", "--producer-id", "1"), "--start-offset, or with --producer-id"),
        (("list",), "--bootstrap-server"),
    ],
)
def test_wrong_usage_is_one_sentence(falkirk, words, reason):
    ended = falkirk("transactions", *words)
    assert (ended.exit_code, reason in ended.stderr, ended.stdout) == (2, True, "")
