"""Clients and Kafka Streams move records exactly once, while programs, coordinators and leaders are killed.

Real Kafka is the control: what does not hold there cannot be asked of ours.
"""

import os
import random
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from falkirk_node import OurCluster
from kafka_cluster import COMBINED, Clusters, KafkaCluster
from topic_state import await_in_sync
from transfers import KILLED, TransferRun

pytestmark = pytest.mark.interop
LIBRARIES = ("librdkafka", "kafka-python", "aiokafka", "java-3.9.1", "java-4.3.1")
KINDS = {"falkirk": OurCluster, "kafka": KafkaCluster}
SETTINGS = {
    "min.insync.replicas": "2",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": "4",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    # Who follows a killed client need not wait long for its partitions.
    "group.min.session.timeout.ms": "1000",
}
RECORDS = 100
SEEDS = random.SystemRandom()


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
    play(TransferRun(cluster, LIBRARIES, tmp_path), cluster, [None] * kills)


@pytest.mark.full
@pytest.mark.parametrize("whose", ["falkirk", "kafka"])
def test_kafka_streams_counts_every_record_once(whose: str, clusters: Clusters, tmp_path: Path) -> None:
    cluster = started(whose, "4.3.1", clusters, tmp_path)
    play(TransferRun(cluster, ["streams-4.3.1"], tmp_path), cluster, ["leader", "client", "coordinator", "client"])


def started(whose: str, release: str, clusters: Clusters, folder: Path) -> KafkaCluster:
    """A running cluster of three."""
    cluster = KINDS[whose].new(release, folder / "cluster", dict.fromkeys((1, 2, 3), COMBINED), settings=SETTINGS)
    clusters.adopt(cluster)
    cluster.format()
    cluster.start()
    return cluster


def play(run: TransferRun, cluster: KafkaCluster, kills: Sequence[str | None]) -> None:
    """Move records, and kill one after the other, None by chance; after each kill everything is there once.

    Each kill has a seed of its own.
    """
    ports = [layout.broker_port for layout in cluster.layouts]
    try:
        run.feed(RECORDS)
        run.settle()
        for number, wanted in enumerate(kills, 1):
            await_in_sync(ports, cluster.nodes)
            seed = SEEDS.getrandbits(32)
            chance = random.Random(seed)
            kind = wanted or chance.choice(KILLED)
            begun = time.monotonic()
            run.feed(RECORDS)
            run.run_for(chance.random())
            killed = run.kill(kind, chance)
            run.settle()
            # pytest shows it with a failure; `-s` while it runs.
            print(f"kill {number}: {seed=}, {kind}: {killed}, {time.monotonic() - begun:.1f} s", flush=True)  # noqa: T201
        run.finish()
    finally:
        run.stop()
