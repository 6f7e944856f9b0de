"""Random faults against a small cluster: what was acknowledged stays, and all logs end up equal."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from replica_cluster import ReplicaCluster

if TYPE_CHECKING:
    from replica_cluster import Produced

STEPS = 25


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 10, 21, 29])
def test_nothing_acknowledged_is_lost_whatever_happens_to_brokers_and_connections(seed):
    random = Random(seed)
    cluster = ReplicaCluster(seed=seed, properties={"replica.lag.time.max.ms": "3000"})
    cluster.create("t", min_insync_replicas="2")
    sent: list[tuple[bytes, Produced]] = []
    for step in range(STEPS):
        for number in range(random.randrange(4)):
            value = b"%d-%d" % (step, number)
            leader = cluster.state("t").leader
            if leader >= 0 and cluster.network.hosts[leader].node is not None:
                sent.append((value, cluster.begin_produce("t", value, timeout_ms=20_000)))
        _fault(cluster, random)
        cluster.run(random.randrange(1, 3_000))

    cluster.network.heal()
    for broker in cluster.brokers:
        if cluster.network.hosts[broker].node is None:
            cluster.start(broker)
    # A broker that was killed is in sync until the controller misses it: that must have happened.
    cluster.run(4_000)
    cluster.wait_for_isr("t", *cluster.brokers)
    cluster.run_until(lambda: all(_has_committed_all(cluster, broker) for broker in cluster.brokers))

    logs = [cluster.values(broker, "t") for broker in cluster.brokers]
    assert logs[0] == logs[1] == logs[2]
    acknowledged = {value for value, produced in sent if produced.error == 0}
    assert acknowledged
    assert acknowledged <= set(logs[0])


def _has_committed_all(cluster: ReplicaCluster, broker: int) -> bool:
    log = cluster.log(broker, "t")
    return log.high_watermark == log.log_end_offset


def _fault(cluster: ReplicaCluster, random: Random) -> None:
    broker = random.choice(cluster.brokers)
    is_down = cluster.network.hosts[broker].node is None
    match random.randrange(6):
        case 0 | 1 if is_down:
            cluster.network.start(broker)
        case 0:
            cluster.network.kill(broker)
        case 1:
            cluster.network.restart(broker)
        case 2 if not is_down:
            cluster.network.isolate(broker)
        case 3:
            cluster.cut((broker, random.choice([other for other in cluster.brokers if other != broker])))
        case 4:
            cluster.network.heal()
