"""Produced transactions on a cluster: verified with their coordinator, or added to them, whoever leads what."""

import pytest
from transaction_cluster import TransactionCluster

from falkirk.protocol.error_codes import ErrorCode

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster():
    made = TransactionCluster(brokers=2)
    made.create("t", factor=2, partitions=4)
    return made


@pytest.mark.parametrize(("version", "error"), [(9, "INVALID_TXN_STATE"), (11, "TRANSACTION_ABORTABLE")])
def test_no_record_gets_into_a_partition_that_its_coordinator_does_not_know(cluster, version, error):
    producer = cluster.producer(f"unknown-{version}")
    producer.add(("t", 0))
    end = cluster.replicas(cluster.state("t", 1).leader).leader_log(("t", 1)).log_end_offset
    assert producer.try_write("t", b"lost", index=1, version=version) is ErrorCode[error]
    assert cluster.replicas(cluster.state("t", 1).leader).leader_log(("t", 1)).log_end_offset == end
    producer.write("t", b"kept", index=0)
    assert producer.end(is_commit=True) is ErrorCode.NONE
    cluster.run_until(cluster.is_idle)


def test_the_broker_adds_partitions_of_new_clients_to_their_transaction(cluster):
    producer = cluster.producer("implicit")
    for index in range(4):
        assert producer.try_write("t", b"added", index=index, version=12) is ErrorCode.NONE
    described = cluster.describe("implicit")
    assert described.transaction_state == "Ongoing"
    assert [(topic.topic, sorted(topic.partitions)) for topic in described.topics] == [("t", [0, 1, 2, 3])]
    assert producer.end(is_commit=True) is ErrorCode.NONE
    cluster.run_until(cluster.is_idle)
    for index in range(4):
        assert cluster.committed("t", index)[-1:] == [b"added"]


def test_a_transaction_that_is_over_takes_no_more_records(cluster):
    producer = cluster.producer("over")
    producer.add(("t", 2))
    producer.write("t", b"in time", index=2)
    assert producer.end(is_commit=True) is ErrorCode.NONE
    cluster.run_until(cluster.is_idle)
    assert producer.try_write("t", b"late", index=2) is ErrorCode.INVALID_TXN_STATE
    assert cluster.committed("t", 2)[-1:] == [b"in time"]


def test_a_fenced_producer_writes_nothing(cluster):
    old = cluster.producer("fenced")
    old.add(("t", 3))
    new = cluster.producer("fenced")
    assert new.epoch > old.epoch
    assert old.try_write("t", b"zombie", index=3) is ErrorCode.INVALID_PRODUCER_EPOCH
