"""Every replica three times: on a real 4.3.1, on a real 3.9.1 and on a broker of ours, under a controller of ours.

The tests share a cluster and leave it as they found it: all brokers up, every replica in sync. In the full matrix the
third broker is a real one too, so that the tests also hold for Kafka alone.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from broker_logs import index_complaints, kafka_dump, leader_epochs, log_bytes
from falkirk_node import FalkirkNode
from kafka import KafkaAdminClient, TopicPartition
from kafka_cluster import Clusters
from kafka_node import KafkaNode
from mixed_cluster import MixedCluster
from node_faults import cut_off, killed
from produce_load import Load, producing
from topic_state import PartitionState, live_brokers, topic_partitions
from waiting import becomes

pytestmark = pytest.mark.interop
OURS = 13
BROKERS = {11: "4.3.1", 12: "3.9.1", OURS: "4.3.1"}
LEVEL = "3.9-IV0"
PARTITIONS = 6
PREFERRED = 0
ALL = frozenset(BROKERS)


@pytest.fixture(
    scope="module", params=[pytest.param((OURS,), id="ours"), pytest.param((), id="all-real", marks=pytest.mark.full)]
)
def running(
    module_clusters: Clusters, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> MixedCluster:
    home = tmp_path_factory.mktemp("mixed-brokers")
    cluster = MixedCluster(("4.3.1",), tuple(BROKERS.values()), home=home, own_brokers=request.param)
    module_clusters.adopt(cluster)
    cluster.format(release_version=LEVEL)
    cluster.start()
    return cluster


@pytest.fixture
def cluster(running: MixedCluster) -> Iterator[MixedCluster]:
    """The cluster; a failed test prints what its nodes logged."""
    yield running
    print(running.own_logs())  # noqa: T201 - pytest shows it with the failure


@contextmanager
def administering(cluster: MixedCluster) -> Iterator[KafkaAdminClient]:
    """A client that knows the currently running brokers."""
    client = KafkaAdminClient(bootstrap_servers=cluster.running_servers.split(","))
    try:
        yield client
    finally:
        client.close()


def state(cluster: MixedCluster, topic: str) -> dict[int, PartitionState]:
    """The topic's partitions, as a running broker knows them."""
    running = next(node for node in cluster.brokers if node.pid is not None)
    return topic_partitions(running.layout.broker_port, topic)


def create_topic(cluster: MixedCluster, name: str, replicas: dict[int, list[int]] | None = None) -> None:
    """Create a topic with replicas on all brokers, each of them leading some, or as given."""
    orders = ([11, 12, 13], [12, 13, 11], [13, 11, 12])
    assignments = replicas or {number: orders[number % 3] for number in range(PARTITIONS)}
    # Few bytes between entries, so that indexes are not empty.
    with administering(cluster) as admin:
        admin.create_topics({name: {"assignments": assignments, "configs": {"index.interval.bytes": "200"}}})
    wanted = {number: brokers[0] for number, brokers in assignments.items()}
    for node in cluster.brokers:
        port = node.layout.broker_port

        def leaders(port: int = port) -> dict[int, int]:
            found = {number: one.leader for number, one in topic_partitions(port, name).items()}
            # A broker whose session ran out on a busy machine does not lead when it is back, unless it is elected.
            if found.keys() == wanted.keys() and found != wanted:
                elect_preferred_leaders(cluster, name)
            return found

        becomes(leaders, wanted)


def await_in_sync(cluster: MixedCluster, topic: str) -> None:
    """Wait until all brokers are there and all replicas in sync."""
    for node in cluster.brokers:
        port = node.layout.broker_port
        becomes(lambda port=port: live_brokers(port), set(ALL))
    becomes(lambda: all(set(one.replicas) == one.in_sync for one in state(cluster, topic).values()), wanted=True)


def assert_equal_logs(cluster: MixedCluster, topic: str) -> None:
    """All nodes have the same bytes of each partition, and know the same leader epochs."""
    for number in range(PARTITIONS):
        partition = f"{topic}-{number}"
        becomes(lambda partition=partition: len({log_bytes(node, partition) for node in cluster.brokers}), 1)
        assert log_bytes(cluster.brokers[0], partition)
        epochs = [leader_epochs(node, partition) for node in cluster.brokers]
        assert epochs[0] == epochs[1] == epochs[2]


def elect_preferred_leaders(cluster: MixedCluster, topic: str) -> None:
    """Elect preferred leaders; those that lead already are no error."""
    with administering(cluster) as admin:
        admin.elect_leaders(PREFERRED, {topic: list(range(PARTITIONS))}, raise_errors=False)


def finish(load: Load) -> None:
    """Stop producing: no acked record is missing, and no record had to be given up."""
    result = load.finish()
    assert result["missing"] == []
    assert result["failures"] == {}


def other_broker(cluster: MixedCluster, node_id: int) -> int:
    """The port of another broker."""
    return next(node.layout.broker_port for node in cluster.brokers if node.layout.node_id != node_id)


@pytest.mark.parametrize("codec", ["none", pytest.param("lz4", marks=pytest.mark.full)])
def test_replicas_follow_leaders_of_every_kind(
    cluster: MixedCluster, tmp_path: Path, tools_api: Path, codec: str
) -> None:
    topic = f"calm-{codec}"
    create_topic(cluster, topic)
    with producing(cluster.bootstrap_servers, topic, tmp_path, codec=codec) as load:
        load.await_more(500)
        finish(load)
    await_in_sync(cluster, topic)
    assert {one.leader for one in state(cluster, topic).values()} == ALL
    assert_equal_logs(cluster, topic)
    partitions = [f"{topic}-{number}" for number in range(PARTITIONS)]
    dumps = [kafka_dump(node, partitions, tools_api) for node in cluster.brokers]
    assert dumps[0] == dumps[1] == dumps[2]
    assert len(dumps[0]) >= 500


@pytest.mark.parametrize(
    ("node_id", "fault"),
    [
        (OURS, killed),
        (12, cut_off),
        pytest.param(11, killed, marks=pytest.mark.full),
        pytest.param(OURS, cut_off, marks=pytest.mark.full),
        pytest.param(11, cut_off, marks=pytest.mark.full),
        pytest.param(12, killed, marks=pytest.mark.full),
    ],
)
def test_no_acked_record_is_lost_when_a_broker_is_gone(
    cluster: MixedCluster,
    tmp_path: Path,
    node_id: int,
    fault: Callable[[KafkaNode], "contextmanager[None]"],
) -> None:
    topic = f"{fault.__name__}-{node_id}"
    create_topic(cluster, topic)
    with producing(cluster.bootstrap_servers, topic, tmp_path) as load:
        load.await_more(300)
        with fault(cluster.nodes[node_id]):
            port = other_broker(cluster, node_id)
            becomes(lambda: live_brokers(port), set(ALL - {node_id}))
            becomes(
                lambda: {one.leader for one in topic_partitions(port, topic).values()},
                set(ALL - {node_id}),
            )
            load.await_more(300)
        await_in_sync(cluster, topic)
        elect_preferred_leaders(cluster, topic)
        load.await_more(300)
        finish(load)
    await_in_sync(cluster, topic)
    assert_equal_logs(cluster, topic)


def test_all_replicas_move_from_the_real_brokers_to_ours_and_back(cluster: MixedCluster, tmp_path: Path) -> None:
    topic = "moved"
    create_topic(cluster, topic, {number: [11, 12] for number in range(PARTITIONS)})
    with producing(cluster.bootstrap_servers, topic, tmp_path) as load:
        for replicas in ([OURS], [12, 11]):
            load.await_more(300)
            with administering(cluster) as admin:
                wanted = {TopicPartition(topic, number): replicas for number in range(PARTITIONS)}
                admin.alter_partition_reassignments(wanted)
            moved = PartitionState(replicas[0], tuple(replicas), frozenset(replicas))
            becomes(lambda: set(state(cluster, topic).values()), {moved})
            load.await_more(300)
            gone = [node for node in cluster.brokers if node.layout.node_id not in replicas]
            becomes(lambda gone=gone: {log_bytes(node, f"{topic}-0") for node in gone}, {b""})
        finish(load)


@pytest.mark.parametrize("node_id", [OURS, pytest.param(11, marks=pytest.mark.full)])
def test_a_real_broker_opens_the_directory_of_ours_and_ours_that_of_a_real_one(
    cluster: MixedCluster, tmp_path: Path, tools_api: Path, node_id: int
) -> None:
    topic = f"swapped-{node_id}"
    create_topic(cluster, topic)
    partitions = [f"{topic}-{number}" for number in range(PARTITIONS)]
    first = type(cluster.nodes[node_id])
    other = KafkaNode if first is FalkirkNode else FalkirkNode
    with producing(cluster.bootstrap_servers, topic, tmp_path) as load:
        load.await_more(300)
        for kind, is_clean in ((other, True), (first, True), (other, False), (first, False)):
            node = cluster.nodes[node_id]
            if is_clean:
                node.stop()
                assert index_complaints(node, partitions, tools_api) == []
            else:
                node.kill()
            cluster.replace(node_id, kind)
            cluster.restart(node_id)
            await_in_sync(cluster, topic)
            elect_preferred_leaders(cluster, topic)
            becomes(lambda: {one.leader for one in state(cluster, topic).values()}, set(ALL))
            load.await_more(300)
        finish(load)
    await_in_sync(cluster, topic)
    assert_equal_logs(cluster, topic)
