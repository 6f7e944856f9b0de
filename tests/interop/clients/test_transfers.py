"""Clients and Kafka Streams move records exactly once, while programs, coordinators and leaders are killed.

Real Kafka is the control: what does not hold there cannot be asked of ours.
"""

import os
import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
from falkirk_node import OurCluster
from kafka_client import Access
from kafka_cluster import COMBINED, Clusters, KafkaCluster
from librdkafka_client import LibrdkafkaClient
from topic_state import await_in_sync
from transfers import TransferRun, topics

pytestmark = pytest.mark.interop
LIBRARIES = ("librdkafka", "kafka-python", "aiokafka", "java-3.9.1", "java-4.3.1")
KINDS = {"falkirk": OurCluster, "kafka": KafkaCluster}
SETTINGS = {
    "min.insync.replicas": "2",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": "4",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
}
RECORDS = 200


@pytest.mark.parametrize(
    ("whose", "release", "kills"),
    [
        pytest.param("falkirk", "4.3.1", 3),
        *(
            pytest.param(whose, release, 8, marks=pytest.mark.full)
            for whose, release in (("kafka", "3.9.1"), ("kafka", "4.3.1"), ("falkirk", "3.9.1"), ("falkirk", "4.4.0"))
        ),
        pytest.param("falkirk", "4.3.1", int(os.environ.get("FALKIRK_KILLS", "300")), marks=pytest.mark.full),
    ],
)
def test_every_record_is_moved_once(whose: str, release: str, kills: int, clusters: Clusters, tmp_path: Path) -> None:
    cluster = started(whose, release, clusters, tmp_path)
    seed = random.randrange(1 << 30)
    print(f"{seed=}")  # noqa: T201 - pytest shows it with the failure
    run = TransferRun(cluster, LIBRARIES, tmp_path, seed=seed)
    play(run, cluster, [run.kill_something] * kills)


@pytest.mark.full
@pytest.mark.parametrize("whose", ["falkirk", "kafka"])
def test_kafka_streams_counts_every_record_once(whose: str, clusters: Clusters, tmp_path: Path) -> None:
    cluster = started(whose, "4.3.1", clusters, tmp_path)
    run = TransferRun(cluster, ["streams-4.3.1"], tmp_path, seed=1)
    play(run, cluster, [partial(run.kill, kind) for kind in ("leader", "client", "coordinator", "client")])


def started(whose: str, release: str, clusters: Clusters, folder: Path) -> KafkaCluster:
    """A running cluster of three."""
    cluster = KINDS[whose].new(release, folder / "cluster", dict.fromkeys((1, 2, 3), COMBINED), settings=SETTINGS)
    clusters.adopt(cluster)
    cluster.format()
    cluster.start()
    return cluster


def play(run: TransferRun, cluster: KafkaCluster, kills: Sequence[Callable[[], None]]) -> None:
    """Move records during the kills; at the end, each is there once."""
    admin = LibrdkafkaClient(Access(servers=cluster.bootstrap_servers))
    for name, partitions in topics(run.transfers).items():
        admin.create_topic(name, partitions=partitions, replication_factor=3)
    admin.close()
    ports = [layout.broker_port for layout in cluster.layouts]
    try:
        run.feed(RECORDS)
        run.run_for(6)
        for kill in kills:
            await_in_sync(ports, cluster.nodes)
            run.feed(RECORDS)
            kill()
            run.run_for(2)
        run.finish()
    finally:
        run.stop()
