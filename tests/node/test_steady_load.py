"""A mixed load, of clients that behave and of others, leaves a cluster as it found it: memory, descriptors, objects."""

from __future__ import annotations

import gc
import os
import time
import tracemalloc
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from node_network import BROKER_LISTENER, CONTROLLER_LISTENER
from serving_cluster import BROKER_ID, TOPIC, a_cluster, with_consumer_groups

from falkirk.node.connections.api_uses import API_USES_MAX
from falkirk.node.connections.known_answers import KNOWN_ANSWERS_MAX
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.messages import (
    ApiVersionsRequest,
    ConsumerGroupHeartbeatRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeClusterRequest,
    DescribeGroupsRequest,
    FetchRequest,
    FindCoordinatorRequest,
    IncrementalAlterConfigsRequest,
    MetadataRequest,
    OffsetCommitRequest,
    ProduceRequest,
)
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic
from falkirk.protocol.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic
from falkirk.protocol.messages.offset_commit_request import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from node_network import Client, NodeNetwork

# How long the load lasts, after a warm-up that fills caches.
MINUTES = float(os.environ.get("FALKIRK_LOAD_MINUTES", "60"))
WARM_UP_ROUNDS = 3_000
# What caches may still grow by, and the allocator may keep.
HEAP_BYTES_MAX = 2 * 1024 * 1024
OBJECTS_MAX = 5_000
RSS_BYTES_MAX = 48 * 1024 * 1024
# Snapshots every few hundred changes, so that logs have a stable length.
SNAPSHOTS = {
    "metadata_log_max_record_bytes_between_snapshots": 20_000,
    "metadata_log_segment_bytes": 20_000,
    "metadata_max_retention_bytes": 100_000,
}
CHANGED_TOPICS = 5


def metadata(client: Client, random: Random) -> None:
    topics = [MetadataRequestTopic(name=random.choice((TOPIC, f"absent-{random.random()}"))) for _ in range(20)]
    client.send(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 9)


def descriptions(client: Client, random: Random) -> None:
    client.send(DescribeGroupsRequest(groups=tuple(f"g{random.random()}" for _ in range(50))), 5)
    client.send(FindCoordinatorRequest(coordinator_keys=tuple(f"g{random.random()}" for _ in range(50))), 4)


def software(client: Client, random: Random) -> None:
    client.send(ApiVersionsRequest(f"software-{random.randrange(2 * API_USES_MAX)}", "1"), 3)


def patterns(client: Client, random: Random) -> None:
    # A member that does not exist: the expression is read, and nothing is written.
    regex = f"t{random.randrange(1_000)}(.{{0,20}}){{0,20}}"
    client.send(ConsumerGroupHeartbeatRequest("g", "m", 5, subscribed_topic_regex=regex), 1)


def records(client: Client, random: Random) -> None:
    batch = build_batch([Record(0, client.network.now_ms, None, random.randbytes(200))], base_offset=0)
    data = [TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(records=batch)])]
    client.send(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=data), 9)


def fetches(client: Client, _: Random) -> None:
    partition = FetchPartition(fetch_offset=0, partition_max_bytes=10_000)
    client.send(FetchRequest(max_wait_ms=10, min_bytes=1, topics=[FetchTopic(TOPIC, partitions=[partition])]), 11)


def commits(client: Client, random: Random) -> None:
    partition = OffsetCommitRequestPartition(0, random.randrange(1_000))
    client.send(OffsetCommitRequest("simple", topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])]), 7)


def topics_that_come_and_go(client: Client, random: Random) -> None:
    name = f"passing-{random.randrange(CHANGED_TOPICS)}"
    client.send(CreateTopicsRequest([CreatableTopic(name, 2, 1)], 1000), 2)
    client.send(DeleteTopicsRequest(topic_names=(name,), timeout_ms=1000), 3)


def configs(client: Client, random: Random) -> None:
    config = AlterableConfig("retention.ms", 0, str(random.randrange(10**6, 10**7)))
    client.send(IncrementalAlterConfigsRequest([AlterConfigsResource(2, TOPIC, [config])]), 0)


def garbage(client: Client, random: Random) -> None:
    client.send_bytes(random.randbytes(200))


def half_a_frame(client: Client, random: Random) -> None:
    client.send_bytes(bytes((0, 1, 0, 0)) + bytes((0, 3, 0, 9, 0, 0, 0, 1, 255, 255)) + random.randbytes(2_000))


def description_of_the_cluster(client: Client, _: Random) -> None:
    client.send(DescribeClusterRequest(), 0)


OF_ALL_NODES: tuple[Callable[[Client, Random], None], ...] = (garbage, half_a_frame, description_of_the_cluster)
OF_BROKERS = (
    metadata,
    descriptions,
    software,
    patterns,
    records,
    fetches,
    commits,
    topics_that_come_and_go,
    configs,
    *OF_ALL_NODES,
)


def one_round(network: NodeNetwork, random: Random) -> None:
    """Connect, send something, and leave, in order or not."""
    for listener, node_id in ((BROKER_LISTENER, BROKER_ID), (CONTROLLER_LISTENER, 1)):
        client = network.client(node_id, listener)
        random.choice(OF_BROKERS if listener == BROKER_LISTENER else OF_ALL_NODES)(client, random)
        network.run_for(50)
        if not client.is_closed:
            network.disconnect(client)
    for host in network.hosts.values():
        host.facts.clear()


def fill_caches(network: NodeNetwork) -> None:
    """Reach the limits of what is kept for each client or request."""
    for number in range(max(2 * API_USES_MAX, KNOWN_ANSWERS_MAX) + 1):
        client = network.client(BROKER_ID, BROKER_LISTENER)
        client.send(ApiVersionsRequest(f"software-{number}", "1"), 3)
        network.run_for(1)
        network.disconnect(client)


def stored(network: NodeNetwork) -> int:
    """Return the bytes on all disks."""
    files = (contents for host in network.hosts.values() for contents in host.disk._files.values())
    return sum(len(chunk) for contents in files for chunk in contents)


def open_files() -> int:
    """Count the descriptors of this process."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def rss() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@pytest.mark.full
def test_memory_and_descriptors_stay_where_they_were(record_property: Callable[[str, object], None]) -> None:
    # From the beginning: what the warm-up left and the load replaces is no growth.
    tracemalloc.start()
    network, random = with_consumer_groups(a_cluster("4.4", **SNAPSHOTS)), Random(1)
    fill_caches(network)
    for _ in range(WARM_UP_ROUNDS):
        one_round(network, random)
    gc.collect()
    objects, resident, descriptors, logged = len(gc.get_objects()), rss(), open_files(), stored(network)
    heap = tracemalloc.get_traced_memory()[0]
    ends = time.monotonic() + 60 * MINUTES
    rounds = 0
    while time.monotonic() < ends:
        one_round(network, random)
        rounds += 1
    gc.collect()
    # The disks are in memory, too, and the logs of partitions grow.
    logged = stored(network) - logged
    grown = {
        "descriptors": open_files() - descriptors,
        "objects": len(gc.get_objects()) - objects,
        "heap bytes": tracemalloc.get_traced_memory()[0] - heap - logged,
        "resident bytes": rss() - resident - logged,
    }
    tracemalloc.stop()
    for name, value in {"rounds": rounds, "logged bytes": logged, "resident bytes before": resident, **grown}.items():
        record_property(name, value)
    assert rounds > 0
    assert grown["descriptors"] == 0
    assert grown["objects"] < OBJECTS_MAX, grown
    assert grown["heap bytes"] < HEAP_BYTES_MAX, grown
    assert grown["resident bytes"] < RSS_BYTES_MAX, grown
