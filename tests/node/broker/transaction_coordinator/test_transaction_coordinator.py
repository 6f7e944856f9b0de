"""Transactions on brokers of ours: from InitProducerId to markers in all partitions, whoever leads what."""

import pytest
from transaction_cluster import TransactionCluster

from falkirk.protocol.error_codes import ErrorCode

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
