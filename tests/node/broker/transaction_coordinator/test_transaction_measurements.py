from types import SimpleNamespace

import pytest
from transaction_cluster import TransactionCluster

from falkirk import slices
from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.node.broker.coordinator_runtime.hosted_shard import HostState
from falkirk.node.broker.transaction_coordinator.transaction_measurements import measure_transactions
from falkirk.slices import exhaust


@pytest.mark.slow
def test_transactional_ids_are_counted_by_state_and_markers_that_wait():
    cluster = TransactionCluster(brokers=2, state_partitions=2)
    cluster.create("t", replicas={0: [101], 1: [102]})
    idle, open_, decided = (cluster.producer(name) for name in ("idle", "open", "decided"))
    coordinator = cluster.transaction_coordinator("decided")
    (other,) = {101, 102} - {coordinator}
    open_.add(("t", 0))
    decided.add(("t", other - 101))
    cluster.kill(other)
    decided.end(is_commit=True)
    cluster.run_until(lambda: len(cluster.transactions(coordinator).hosts) == 2)
    cluster.run_until(lambda: all(host.shard for host in cluster.transactions(coordinator).hosts.values()))
    now = exhaust(measure_transactions(cluster.transactions(coordinator)))
    assert now.states == {
        TransactionState.EMPTY: 1,
        TransactionState.ONGOING: 1,
        TransactionState.PREPARE_COMMIT: 1,
    }
    assert now.shards == {HostState.ACTIVE: 2}
    assert (now.leaderless_markers, now.queued_markers) == (1, 0)
    assert idle.producer_id >= 0


def test_many_transactional_ids_are_counted_some_at_a_time(monkeypatch):
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", 10)
    ids = [SimpleNamespace(state=TransactionState.EMPTY)] * 95
    host = SimpleNamespace(state=HostState.ACTIVE, shard=SimpleNamespace(store=SimpleNamespace(all=lambda: ids)))
    measuring = measure_transactions(SimpleNamespace(hosts={0: host}, sender=SimpleNamespace(counts=(0, 0))))
    for _ in range(9):
        next(measuring)
    assert exhaust(measuring).states == {TransactionState.EMPTY: 95}
