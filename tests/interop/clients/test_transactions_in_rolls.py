"""Brokers of both kinds roll, and each takes the other's place, while transactions are open.

All releases with nodes of ours alone: tests/node/broker/transaction_coordinator/test_transactions_in_rolls.py.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import confluent_kafka as ck
import pytest
from falkirk_node import FalkirkNode
from kafka_client import Access
from kafka_cluster import Clusters
from kafka_node import KafkaNode
from librdkafka_client import LibrdkafkaClient
from mixed_cluster import MixedCluster
from topic_state import await_in_sync
from transfers import PARTITIONS, Arrivals, open_transactions
from waiting import becomes

pytestmark = [pytest.mark.interop, pytest.mark.full]
TOPIC = "rolled"
REAL, OURS = (11, 13), 12
TIMEOUT_S = 90
SETTINGS = {
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.min.isr": "2",
    "min.insync.replicas": "2",
    "group.initial.rebalance.delay.ms": "0",
}


class Story:
    """Transactions over each step, and what has to be committed of them."""

    def __init__(self, cluster: MixedCluster) -> None:
        self._cluster = cluster
        self._servers = {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}
        self._consumer = ck.Consumer({**self._servers, "group.id": "rolled", "enable.auto.commit": False})
        admin = LibrdkafkaClient(Access(servers=cluster.bootstrap_servers))
        admin.create_topic(TOPIC, partitions=PARTITIONS, replication_factor=3)
        admin.close()
        self._arrivals = Arrivals(cluster.bootstrap_servers, [TOPIC])
        self._sent = 0
        self._committed: Counter[int] = Counter()

    def over(self, step: Callable[[], None]) -> None:
        """Do something while two transactions are open: then one is committed, and one aborted."""
        self._await_in_sync()
        opened = [self._begin(name) for name in ("committed", "aborted")]
        step()
        self._await_in_sync()
        for producer, numbers in opened:
            numbers.extend(self._write(producer))
        (committed, numbers), (aborted, _) = opened
        offsets = [ck.TopicPartition(TOPIC, 0, self._sent)]
        committed.send_offsets_to_transaction(offsets, self._consumer.consumer_group_metadata(), TIMEOUT_S)
        committed.commit_transaction(TIMEOUT_S)
        aborted.abort_transaction(TIMEOUT_S)
        self._committed.update(numbers)
        becomes(lambda: open_transactions(self._cluster), [])
        self._arrivals.read(1)
        assert self._arrivals.counts[TOPIC] == self._committed
        (found,) = self._consumer.committed([ck.TopicPartition(TOPIC, 0)], TIMEOUT_S)
        assert found.offset == self._sent

    def _begin(self, name: str) -> tuple[ck.Producer, list[int]]:
        settings = {"transactional.id": name, "transaction.timeout.ms": 600_000}
        producer = ck.Producer(self._servers | settings)
        producer.init_transactions(TIMEOUT_S)
        producer.begin_transaction()
        return producer, self._write(producer)

    def _write(self, producer: ck.Producer) -> list[int]:
        numbers = list(range(self._sent, self._sent + 2 * PARTITIONS))
        self._sent += len(numbers)
        for number in numbers:
            producer.produce(TOPIC, str(number).encode(), partition=number % PARTITIONS)
        assert producer.flush(TIMEOUT_S) == 0
        return numbers

    def _await_in_sync(self) -> None:
        brokers = self._cluster.brokers
        await_in_sync([node.layout.broker_port for node in brokers], [node.layout.node_id for node in brokers])


def test_transactions_are_open_while_brokers_roll_and_take_the_places_of_others(
    clusters: Clusters, tmp_path: Path
) -> None:
    cluster = MixedCluster(("4.3.1",), ("3.9.1",) * 3, own_brokers={OURS}, home=tmp_path, settings=SETTINGS)
    clusters.adopt(cluster)
    cluster.format(release_version="3.9-IV0")
    cluster.start()
    story = Story(cluster)
    for release in ("4.3.1", "3.9.1"):
        for node in cluster.brokers:
            story.over(lambda node=node, release=release: node.run_as(release))  # type: ignore[misc]
    for node_id, kind in ((REAL[0], FalkirkNode), (OURS, KafkaNode), (REAL[0], KafkaNode), (OURS, FalkirkNode)):
        story.over(lambda node_id=node_id, kind=kind: become(cluster, node_id, kind))  # type: ignore[misc]


def become(cluster: MixedCluster, node_id: int, kind: type[KafkaNode]) -> None:
    """Run a broker of this kind on the disk of the one of the other kind."""
    cluster.nodes[node_id].stop()
    cluster.replace(node_id, kind)
    cluster.restart(node_id)
