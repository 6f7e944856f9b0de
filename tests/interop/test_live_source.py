"""The fleet pipeline's live source with a real 3.7.2 node, whose brokers do not report controller addresses.

With a newer one, and all that can be seeded: `test_harness.py`.
"""

import asyncio
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from ingested_rows import ingested_rows
from kafka_cluster import Clusters, KafkaCluster

from falkirk.client.admin import AsyncAdmin
from falkirk.client.config import ClientConfig, parse_servers
from falkirk.mirror.cluster_mirror import ClusterMirror, LiveSource
from falkirk.mirror.errors import MirrorError
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.messages import CreateTopicsRequest, CreateTopicsResponse
from falkirk.protocol.messages.create_topics_request import CreatableTopic

pytestmark = pytest.mark.interop


def test_a_node_of_372_is_fetched_if_its_controllers_are_named(clusters: Clusters, tmp_path: Path) -> None:
    node = clusters.new("3.7.2")
    node.format()
    with node.running():
        brokers = parse_servers(node.bootstrap_servers)
        create_topic(node)
        commit(node, offset=7)
        with pytest.raises(MirrorError, match="name them \\(--bootstrap-controller\\)"):
            ClusterMirror(tmp_path / "live", LiveSource(brokers=brokers)).refresh()
        controllers = (Endpoint("127.0.0.1", node.layouts[0].controller_port),)
        mirror = ClusterMirror(tmp_path / "live", LiveSource(brokers=brokers, controllers=controllers))
        mirror.refresh()
        commit(node, offset=8)
        live = mirror.refresh()

    fetched = {path.relative_to(live): path.read_bytes() for path in live.rglob("*.log")}
    assert {path.parent.name.rpartition("-")[0] for path in fetched} == {"__cluster_metadata", "__consumer_offsets"}
    for path, data in fetched.items():
        assert (node.layouts[0].log_dirs[0] / path).read_bytes().startswith(data), path
    rows = ingested_rows([live], tmp_path / "rows")
    assert '"orders"' in "".join(rows["topics"])
    [committed] = rows["committed_offsets"]
    assert '"committed_offset": 8' in committed


def create_topic(node: KafkaCluster) -> None:
    async def create() -> CreateTopicsResponse:
        async with AsyncAdmin(parse_servers(node.bootstrap_servers), ClientConfig()) as admin:
            answer = await admin.request(CreateTopicsRequest([CreatableTopic("orders", 1, 1)]))
            assert isinstance(answer, CreateTopicsResponse)
            return answer

    assert [topic.error_code for topic in asyncio.run(create()).topics] == [0]


def commit(node: KafkaCluster, *, offset: int) -> None:
    """Commit for a group without members."""
    settings = {"bootstrap.servers": node.bootstrap_servers, "group.id": "readers", "enable.auto.commit": False}
    consumer = Consumer(settings)
    [done] = consumer.commit(offsets=[TopicPartition("orders", 0, offset)], asynchronous=False)
    consumer.close()
    assert done.error is None
