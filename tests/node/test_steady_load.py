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
from serving_cluster import BROKER_ID, TOPIC, a_cluster

from falkirk.protocol.messages import (
    ApiVersionsRequest,
    ConsumerGroupHeartbeatRequest,
    DescribeClusterRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    MetadataRequest,
)
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic

if TYPE_CHECKING:
    from collections.abc import Callable

    from node_network import Client, NodeNetwork

# How long the load lasts, after a warm-up that fills caches.
MINUTES = float(os.environ.get("FALKIRK_LOAD_MINUTES", "60"))
WARM_UP_ROUNDS = 3_000
# What caches may still grow by, and the allocator may keep.
HEAP_BYTES_MAX = 4 * 1024 * 1024
RSS_BYTES_MAX = 48 * 1024 * 1024


def ask_for_metadata(client: Client, random: Random) -> None:
    topics = [MetadataRequestTopic(name=random.choice((TOPIC, f"absent-{random.random()}"))) for _ in range(20)]
    client.send(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 9)


def ask_for_groups(client: Client, random: Random) -> None:
    client.send(DescribeGroupsRequest(groups=tuple(f"g{random.random()}" for _ in range(50))), 5)
    client.send(FindCoordinatorRequest(coordinator_keys=tuple(f"g{random.random()}" for _ in range(50))), 4)


def tell_software(client: Client, random: Random) -> None:
    client.send(ApiVersionsRequest(f"software-{random.randrange(10_000)}", f"{random.random()}"), 3)


def subscribe_to_patterns(client: Client, random: Random) -> None:
    # A member that does not exist: the expression is read, and nothing is written.
    regex = f"t{random.randrange(1_000)}(.{{0,20}}){{0,20}}"
    client.send(ConsumerGroupHeartbeatRequest("g", "m", 5, subscribed_topic_regex=regex), 1)


def send_garbage(client: Client, random: Random) -> None:
    client.send_bytes(random.randbytes(200))


def send_half_a_frame(client: Client, random: Random) -> None:
    client.send_bytes(bytes((0, 1, 0, 0)) + bytes((0, 3, 0, 9, 0, 0, 0, 1, 255, 255)) + random.randbytes(2_000))


def ask_for_the_cluster(client: Client, _: Random) -> None:
    client.send(DescribeClusterRequest(), 0)


LOADS: tuple[Callable[[Client, Random], None], ...] = (
    ask_for_metadata,
    ask_for_groups,
    tell_software,
    subscribe_to_patterns,
    send_garbage,
    send_half_a_frame,
    ask_for_the_cluster,
)


def one_round(network: NodeNetwork, random: Random) -> None:
    """Connect, send something, and leave, in order or not."""
    for listener, node_id in ((BROKER_LISTENER, BROKER_ID), (CONTROLLER_LISTENER, 1)):
        client = network.client(node_id, listener)
        random.choice(LOADS if listener == BROKER_LISTENER else LOADS[4:])(client, random)
        network.run_for(50)
        if not client.is_closed:
            network.disconnect(client)
    for host in network.hosts.values():
        host.facts.clear()


def stored(network: NodeNetwork) -> int:
    """Return the bytes on all disks."""
    files = (contents for host in network.hosts.values() for contents in host.disk._files.values())
    return sum(len(chunk) for contents in files for chunk in contents)


def open_files() -> int:
    """Count the descriptors of this process."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def rss() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@pytest.mark.full
def test_memory_and_descriptors_stay_where_they_were() -> None:
    network, random = a_cluster("4.4"), Random(1)
    for _ in range(WARM_UP_ROUNDS):
        one_round(network, random)
    gc.collect()
    tracemalloc.start()
    heap, resident, descriptors = tracemalloc.get_traced_memory()[0], rss(), open_files()
    logged = stored(network)
    ends = time.monotonic() + 60 * MINUTES
    rounds = 0
    while time.monotonic() < ends:
        one_round(network, random)
        rounds += 1
    gc.collect()
    # The disks are in memory, too, and logs grow with time.
    logged = stored(network) - logged
    grown = tracemalloc.get_traced_memory()[0] - heap - logged
    tracemalloc.stop()
    assert rounds > 0
    assert open_files() == descriptors
    assert grown < HEAP_BYTES_MAX, f"{grown} bytes after {rounds} rounds"
    assert rss() - resident - logged < RSS_BYTES_MAX
