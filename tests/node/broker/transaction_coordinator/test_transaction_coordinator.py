"""Transactions on brokers of ours: from InitProducerId to markers in all partitions, whoever leads what."""

import pytest
from transaction_cluster import TransactionCluster

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ListTransactionsRequest

pytestmark = pytest.mark.slow


@pytest.fixture
def single():
    made = TransactionCluster(brokers=1)
    made.create("t", factor=1, partitions=3)
    return made


@pytest.fixture(scope="module")
def cluster():
    made = TransactionCluster(brokers=3)
    made.create("t", factor=3, partitions=4)
    return made


@pytest.mark.parametrize(("is_commit", "values"), [(True, [b"one", b"two"]), (False, [])])
def test_a_transaction_on_one_broker_is_seen_whole_or_not_at_all(single, is_commit, values):
    producer = single.producer("tx")
    assert producer.add(("t", 0), ("t", 1)) is ErrorCode.NONE
    producer.write("t", b"one", b"two")
    assert single.describe("tx").transaction_state == "Ongoing"
    assert single.committed("t") == []
    assert producer.end(is_commit=is_commit) is ErrorCode.NONE
    assert single.describe("tx").transaction_state == ("CompleteCommit" if is_commit else "CompleteAbort")
    assert single.committed("t") == values


def test_a_pattern_that_is_none_fails_its_request_and_no_shard(single):
    single.producer("tx")
    host = single.transaction_host(101, "tx")
    shard = host.shard
    answer = single.client(101).ask(ListTransactionsRequest(transactional_id_pattern="("), 2)
    assert ErrorCode(answer.error_code) is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert host.shard is shard
    assert single.listed(transactional_id_pattern="t.") == {"tx": "Empty"}


@pytest.mark.parametrize("is_commit", [True, False])
def test_markers_reach_every_partition_whoever_leads_it(cluster, is_commit):
    name = f"everywhere-{is_commit}"
    before = {index: cluster.committed("t", index) for index in range(4)}
    producer = cluster.producer(name)
    assert producer.add(*(("t", index) for index in range(4))) is ErrorCode.NONE
    for index in range(4):
        producer.write("t", b"%d" % index, index=index)
    assert {index: cluster.committed("t", index) for index in range(4)} == before
    assert producer.end(is_commit=is_commit) is ErrorCode.NONE
    cluster.run_until(cluster.is_idle)
    added = {index: [b"%d" % index] if is_commit else [] for index in range(4)}
    assert {index: cluster.committed("t", index) for index in range(4)} == {i: before[i] + added[i] for i in before}


def test_offsets_of_a_group_are_committed_with_the_transaction(cluster):
    producer = cluster.producer("offsets")
    assert producer.commit_offset("g", "t", 7) is ErrorCode.NONE
    assert cluster.fetch_offsets("g") == {}
    assert producer.end(is_commit=True) is ErrorCode.NONE
    cluster.run_until(cluster.is_idle)
    assert cluster.fetch_offsets("g") == {("t", 0): 7}


def test_the_next_producer_aborts_what_the_one_before_has_left_open(cluster):
    first = cluster.producer("fenced")
    first.add(("t", 0))
    first.write("t", b"never seen")
    second = cluster.producer("fenced")
    assert (second.producer_id, second.epoch) > (first.producer_id, first.epoch)
    assert first.end(is_commit=True) is ErrorCode.PRODUCER_FENCED
    assert b"never seen" not in cluster.committed("t")


def test_a_transaction_that_takes_too_long_is_aborted(cluster):
    producer = cluster.producer("late", timeout_ms=1_000)
    producer.add(("t", 1))
    producer.write("t", b"late", index=1)
    cluster.run(15_000)
    assert cluster.describe("late").transaction_state == "CompleteAbort"
    assert producer.end(is_commit=True) is ErrorCode.PRODUCER_FENCED
    assert b"late" not in cluster.committed("t", 1)


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_decision_outlives_its_coordinator(is_commit):
    cluster = TransactionCluster(brokers=3, state_partitions=1)
    cluster.create("t", replicas={0: [101], 1: [102], 2: [103]})
    producer = cluster.producer("tx")
    coordinator = cluster.transaction_coordinator("tx")
    away = next(broker for broker in (101, 102, 103) if broker != coordinator)
    index = away - 101
    producer.add(("t", index))
    producer.write("t", b"decided", index=index)
    # No marker gets through before the coordinator is killed.
    cluster.cut((coordinator, away))
    assert producer.end(is_commit=is_commit) is ErrorCode.NONE
    assert cluster.describe("tx").transaction_state == ("PrepareCommit" if is_commit else "PrepareAbort")
    cluster.move_transaction("tx")
    cluster.run_until(cluster.is_idle)
    assert cluster.describe("tx").transaction_state == ("CompleteCommit" if is_commit else "CompleteAbort")
    assert cluster.committed("t", index) == ([b"decided"] if is_commit else [])


def test_an_open_transaction_goes_on_with_the_next_coordinator():
    cluster = TransactionCluster(brokers=3, state_partitions=1)
    cluster.create("t", factor=3)
    producer = cluster.producer("tx")
    producer.add(("t", 0))
    cluster.move_transaction("tx")
    producer.write("t", b"one")
    assert producer.end(is_commit=True) is ErrorCode.NONE
    cluster.run_until(cluster.is_idle)
    assert cluster.committed("t") == [b"one"]


def test_markers_wait_for_a_leader_and_need_none_of_a_deleted_topic():
    cluster = TransactionCluster(brokers=2, state_partitions=1)
    cluster.create("t", replicas={0: [101], 1: [102]})
    cluster.create("gone", replicas={0: [101], 1: [102]})
    producer = cluster.producer("tx")
    coordinator = cluster.transaction_coordinator("tx")
    (other,) = {101, 102} - {coordinator}
    producer.add(("t", other - 101), ("gone", other - 101))
    producer.write("t", b"one", index=other - 101)
    cluster.kill(other)
    assert producer.end(is_commit=True) is ErrorCode.NONE
    cluster.run(5_000)
    assert cluster.describe("tx").transaction_state == "PrepareCommit"
    cluster.delete("gone")
    cluster.start(other)
    cluster.run_until(cluster.is_idle)
    assert cluster.committed("t", other - 101) == [b"one"]


def test_with_an_epoch_for_each_transaction_the_next_one_begins_while_markers_are_on_their_way(cluster):
    producer = cluster.producer("epochs", is_version_2=True)
    before = cluster.committed("t", 2)
    for number in range(6):
        producer.write("t", b"%d" % number, index=2)
        producer.write("t", b"beside", index=3)
        assert producer.end(is_commit=number % 2 == 0) is ErrorCode.NONE
    assert producer.epoch == 6
    cluster.run_until(cluster.is_idle)
    assert cluster.committed("t", 2) == [*before, b"0", b"2", b"4"]
