"""Client libraries as group members, on clusters of ours, and of real Kafka, from which the expectations come."""

import itertools
from collections.abc import Collection, Iterator

import confluent_kafka as ck
import confluent_kafka.admin as ck_admin
import pytest
from _pytest.mark import ParameterSet
from falkirk_node import OurCluster
from group_consumers import CLASSIC, CONSUMER, members
from group_offsets import committed
from java_client import JavaPrograms
from kafka.errors import KafkaError
from kafka_cluster import COMBINED, Clusters, KafkaCluster
from topic_state import await_in_sync, topic_partitions
from waiting import becomes

pytestmark = pytest.mark.interop
PARTITIONS = 4
RECORDS = 40
NUMBERS = itertools.count(1)
OURS = [("falkirk", release, nodes) for release in ("3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0") for nodes in (1, 3)]
KAFKAS = [("kafka", "3.9.1", 3), ("kafka", "4.3.1", 1)]
# What is not of the full matrix: one node without the consumer protocol, three with it.
OLD, NEW = ("falkirk", "3.7.2", 1), ("falkirk", "4.3.1", 3)
SHARING = {(OLD, "librdkafka"), (NEW, "kafka-python"), (NEW, "java-4.3.1"), *((NEW, library) for library in CONSUMER)}
OUTLIVING = {(NEW, "librdkafka"), (NEW, "java-4.3.1-consumer")}


def cases(quick: Collection[tuple[tuple[str, str, int], str]]) -> list[ParameterSet]:
    """Clusters, each with the libraries that speak a protocol enabled by default."""
    return [
        pytest.param(one, library, id="-".join([*map(str, one), library]), marks=marks)
        for one in (*OURS, *KAFKAS)
        for library in (CLASSIC if one[1].startswith("3.") else CLASSIC + CONSUMER)
        for marks in [[] if (one, library) in quick else [pytest.mark.full]]
    ]


@pytest.fixture(scope="module")
def running() -> dict[tuple[str, str, int], KafkaCluster]:
    """The running cluster by its parameters: consecutive tests share it."""
    return {}


@pytest.fixture
def cluster(
    module_clusters: Clusters,
    running: dict[tuple[str, str, int], KafkaCluster],
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> KafkaCluster:
    """Combined nodes."""
    whose, release, nodes = request.param
    if request.param not in running:
        module_clusters.kill()
        running.clear()
        kind = OurCluster if whose == "falkirk" else KafkaCluster
        home = tmp_path_factory.mktemp("groups")
        made = module_clusters.adopt(kind.new(release, home, dict.fromkeys(range(1, nodes + 1), COMBINED)))
        made.format()
        made.start()
        running[request.param] = made
    return running[request.param]


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaPrograms]:
    programs = JavaPrograms(tmp_path_factory.mktemp("java-members"), "GroupMembers")
    try:
        yield programs
    finally:
        programs.close()


@pytest.fixture
def topic(cluster: KafkaCluster) -> str:
    """A topic of four partitions with forty records."""
    name = f"topic-{next(NUMBERS)}"
    admin = ck_admin.AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    made = admin.create_topics([ck_admin.NewTopic(name, PARTITIONS, len(cluster.nodes))], operation_timeout=30)
    made[name].result(30)
    for layout in cluster.layouts:
        becomes(lambda port=layout.broker_port: _partitions_led(port, name), PARTITIONS)
    produce(cluster, name, "first")
    return name


def produce(cluster: KafkaCluster, topic: str, salt: str) -> None:
    """Append this many records in each batch, spread over all partitions."""
    producer = ck.Producer({"bootstrap.servers": cluster.running_servers, "log_level": 0})
    for number in range(RECORDS):
        producer.produce(topic, f"{salt} {number}".encode(), partition=number % PARTITIONS)
    assert producer.flush(30) == 0


def _partitions_led(port: int, topic: str) -> int:
    return sum(partition.leader >= 0 for partition in topic_partitions(port, topic).values())


def start(cluster: KafkaCluster, node_id: int) -> None:
    """Restart a killed node."""
    cluster.nodes[node_id].start()
    cluster.nodes[node_id].wait_started()


def values(salt: str) -> list[str]:
    return sorted(f"{salt} {number}" for number in range(RECORDS))


def offsets(cluster: KafkaCluster, group: str) -> dict[int, int]:
    """The offsets of the group, by partition."""
    served = committed(cluster.running_servers, group)
    return {partition: offset for (_, partition), (offset, *_) in served.items()}


@pytest.mark.parametrize(("cluster", "library"), cases(SHARING), indirect=["cluster"])
def test_two_members_share_a_topic_and_the_next_goes_on_where_they_were(cluster, topic, java, library):
    group = f"group-of-{topic}"
    with members(cluster.bootstrap_servers, group, topic, java) as group_members:
        group_members.join(library)
        group_members.poll_until_read(RECORDS)
        group_members.commit()
        first = group_members.join(library)
        group_members.poll_until_shared(PARTITIONS)
        produce(cluster, topic, "second")
        group_members.poll_until_read(2 * RECORDS)
        group_members.commit()
        assert sorted(value for _, _, value in group_members.read) == sorted(values("first") + values("second"))
        group_members.leave(first)
        group_members.poll_until_shared(PARTITIONS)
    assert offsets(cluster, group) == dict.fromkeys(range(PARTITIONS), 2 * RECORDS // PARTITIONS)

    produce(cluster, topic, "third")
    with members(cluster.bootstrap_servers, group, topic, java) as group_members:
        group_members.join(library)
        group_members.poll_until_read(RECORDS)
        assert sorted(value for _, _, value in group_members.read) == values("third")


@pytest.mark.parametrize(("cluster", "library"), cases(OUTLIVING)[::-1], indirect=["cluster"])
def test_a_group_outlives_its_coordinator(cluster, topic, java, library):
    """The coordinator is killed: of three brokers another one takes over; a single one comes back."""
    group = f"group-of-{topic}"
    with members(cluster.bootstrap_servers, group, topic, java) as group_members:
        group_members.join(library)
        group_members.poll_until_read(RECORDS)
        group_members.commit()
        group_members.join(library)
        group_members.poll_until_shared(PARTITIONS)
        before = offsets(cluster, group)
        # A broker that was killed a moment ago, for another group, could not follow yet.
        await_in_sync([layout.broker_port for layout in cluster.layouts], cluster.nodes)
        admin = ck_admin.AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
        coordinator = admin.describe_consumer_groups([group])[group].result(30).coordinator.id
        cluster.nodes[coordinator].kill()
        if len(cluster.nodes) == 1:
            start(cluster, coordinator)
        becomes(lambda: offsets(cluster, group), before, refusals=(KafkaError,))
        produce(cluster, topic, "second")
        group_members.poll_until(lambda: {value for _, _, value in group_members.read} >= set(values("second")))
        group_members.poll_until_shared(PARTITIONS)
        # Nothing that was committed came again.
        assert len(group_members.read) == 2 * RECORDS

        def all_is_committed() -> bool:
            # What a member has read and not committed when its partition goes to another one comes again.
            group_members.commit()
            return offsets(cluster, group) == dict.fromkeys(range(PARTITIONS), 2 * RECORDS // PARTITIONS)

        group_members.poll_until(all_is_committed)
        assert sorted(value for _, _, value in group_members.read if value in values("first")) == values("first")
    if cluster.nodes[coordinator].pid is None:
        start(cluster, coordinator)
