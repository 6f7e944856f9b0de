"""Offsets that are committed in transactions: pending until the marker, with whoever leads then."""

import pytest
from group_cluster import GroupCluster, commit_request

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import OffsetFetchRequest, TxnOffsetCommitRequest, WriteTxnMarkersRequest
from falkirk.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from falkirk.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from falkirk.protocol.messages.write_txn_markers_request import WritableTxnMarker, WritableTxnMarkerTopic
from falkirk.versions.release import CONSUMER_OFFSETS

pytestmark = pytest.mark.slow
T0 = ("t", 0)
PRODUCER_ID = 4711


@pytest.fixture
def cluster():
    # The coordinator of the transactions is these tests.
    unverified = {"transaction.partition.verification.enable": "false"}
    made = GroupCluster(offsets_partitions=1, brokers=2, properties=unverified)
    made.create("t", factor=2)
    made.commit("g", {T0: 7})
    return made


def commit_in_transaction(cluster, offset, *, epoch=0):
    topics = [TxnOffsetCommitRequestTopic("t", partitions=[TxnOffsetCommitRequestPartition(0, offset)])]
    answer = cluster.ask("g", TxnOffsetCommitRequest("txn", "g", PRODUCER_ID, epoch, topics=topics), 3)
    return ErrorCode(answer.topics[0].partitions[0].error_code)


def end_transaction(cluster, *, is_commit, epoch=0, coordinator_epoch=0):
    topics = [WritableTxnMarkerTopic(CONSUMER_OFFSETS, (0,))]
    marker = WritableTxnMarker(PRODUCER_ID, epoch, is_commit, topics, coordinator_epoch)
    answer = cluster.ask("g", WriteTxnMarkersRequest([marker]), 1)
    return ErrorCode(answer.markers[0].topics[0].partitions[0].error_code)


def stable_offset(cluster):
    """What a reader is told that waits for transactions."""
    topics = [OffsetFetchRequestTopics("t", partition_indexes=(0,))]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=topics)], require_stable=True)
    partition = cluster.ask("g", request, 8).groups[0].topics[0].partitions[0]
    return ErrorCode(partition.error_code), partition.committed_offset


@pytest.mark.parametrize(("is_commit", "offset"), [(True, 9), (False, 7)])
@pytest.mark.parametrize("moves", ["never", "while it is open", "after its end"])
def test_pending_offsets_count_or_go_with_the_marker_whoever_leads(cluster, is_commit, offset, moves):
    assert commit_in_transaction(cluster, 9) is ErrorCode.NONE
    if moves == "while it is open":
        cluster.move("g")
    assert cluster.fetch_offsets("g") == {T0: 7}
    assert stable_offset(cluster) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
    assert end_transaction(cluster, is_commit=is_commit) is ErrorCode.NONE
    if moves == "after its end":
        cluster.move("g")
    assert cluster.fetch_offsets("g") == {T0: offset}
    assert stable_offset(cluster) == (ErrorCode.NONE, offset)


def test_a_producer_that_was_fenced_commits_nothing_and_costs_nobody_anything(cluster):
    leader = cluster.coordinator("g")
    shard = cluster.host(leader, "g").shard
    commit_in_transaction(cluster, 9, epoch=3)
    assert end_transaction(cluster, is_commit=True, epoch=3) is ErrorCode.NONE
    assert commit_in_transaction(cluster, 10, epoch=2) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert end_transaction(cluster, is_commit=True, epoch=2) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert stable_offset(cluster) == (ErrorCode.NONE, 9)
    assert cluster.host(leader, "g").shard is shard


def test_an_older_transaction_coordinator_ends_nothing(cluster):
    assert end_transaction(cluster, is_commit=False, coordinator_epoch=5) is ErrorCode.NONE
    commit_in_transaction(cluster, 9)
    assert end_transaction(cluster, is_commit=True, coordinator_epoch=4) is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert stable_offset(cluster) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)


def test_what_is_decided_beside_a_transaction_keeps_its_order(cluster):
    broker = cluster.coordinator("g")
    client = cluster.client(broker)
    topics = [TxnOffsetCommitRequestTopic("t", partitions=[TxnOffsetCommitRequestPartition(0, 20)])]
    sent = [
        client.send(commit_request("g", {T0: 10}), 8),
        client.send(TxnOffsetCommitRequest("txn", "g", PRODUCER_ID, 0, topics=topics), 3),
        client.send(commit_request("g", {T0: 30}), 8),
    ]
    cluster.run_until(lambda: client.answers.keys() >= set(sent))
    end_transaction(cluster, is_commit=True)
    # The commit that came later wins over the one whose transaction ended later, as it stands in the log.
    assert cluster.fetch_offsets("g") == {T0: 30}
    cluster.move("g")
    assert cluster.fetch_offsets("g") == {T0: 30}
