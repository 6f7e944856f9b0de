"""Kafka clusters for other people's tests: `pytest-falkirk`, and the same without pytest.

with KafkaCluster(release="4.3", nodes=3) as cluster:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
"""

from falkirk.testing.errors import ClusterError
from falkirk.testing.kafka_cluster import KafkaCluster

__all__ = ["ClusterError", "KafkaCluster"]
