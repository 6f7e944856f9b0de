"""A real broker and one of ours in one cluster answer the same requests about it, in every version, alike."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import broker_questions as questions
import pytest
from kafka_answers import differences
from kafka_cluster import Clusters
from mixed_cluster import MixedCluster
from topic_state import live_brokers
from waiting import becomes

from falkirk.protocol.messages import (
    AlterClientQuotasRequest,
    AlterUserScramCredentialsRequest,
    CreateTopicsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    MetadataRequest,
)
from falkirk.protocol.messages.alter_client_quotas_request import EntityData, EntryData, OpData
from falkirk.protocol.messages.alter_user_scram_credentials_request import ScramCredentialUpsertion
from falkirk.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
)
from falkirk.protocol.messages.describe_configs_request import DescribeConfigsResource
from falkirk.protocol.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource
from falkirk.protocol.schema import WireMessage

pytestmark = pytest.mark.interop
REAL, OURS = 11, 12
QUICK = {"4.3.1"}
RELEASES = ("3.7.2", "3.8.1", "3.9.1", "4.0.0", "4.1.1", "4.2.1", "4.3.1", "4.4.0")
SALT = bytes(range(20))


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[] if name in QUICK else [pytest.mark.full]) for name in RELEASES],
)
def running(
    module_clusters: Clusters, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> MixedCluster:
    home = tmp_path_factory.mktemp("answers")
    release = request.param
    settings = {"auto.create.topics.enable": "false"}
    cluster = MixedCluster((release,), (release, release), home=home, own_brokers=(OURS,), settings=settings)
    module_clusters.adopt(cluster)
    cluster.format()
    cluster.start()
    make_something(cluster)
    return cluster


@pytest.fixture
def cluster(running: MixedCluster) -> Iterator[MixedCluster]:
    yield running
    print(running.own_logs())  # noqa: T201 - pytest shows it with the failure


def port(cluster: MixedCluster, node_id: int) -> int:
    return cluster.nodes[node_id].layout.broker_port


def make_something(cluster: MixedCluster) -> None:
    """Make topics, configs, quotas and users; both brokers know them at the end."""
    both = [port(cluster, node_id) for node_id in (REAL, OURS)]
    for each in both:
        becomes(lambda each=each: live_brokers(each), {REAL, OURS})
    wide = [CreatableReplicaAssignment(index, (REAL, OURS)[:: 1 if index % 2 else -1]) for index in range(4)]
    topics = [
        CreatableTopic("wide", -1, -1, wide, [CreatableTopicConfig("retention.ms", "1234567")]),
        CreatableTopic("narrow", -1, -1, [CreatableReplicaAssignment(0, (OURS,))]),
        CreatableTopic("__consumer_offsets", -1, -1, [CreatableReplicaAssignment(0, (REAL,))]),
    ]
    resources = [
        (questions.BROKER, "", "log.segment.bytes", "2000000"),
        (questions.METRICS, "watch", "interval.ms", "30000"),
    ]
    if knows_groups(cluster):
        resources.append((questions.GROUP, "readers", "consumer.session.timeout.ms", "50000"))
    configs = [
        AlterConfigsResource(kind, name, [AlterableConfig(key, 0, value)]) for kind, name, key, value in resources
    ]
    entities = (
        (("user", "alice"),),
        (("user", None),),
        (("user", "alice"), ("client-id", "app")),
        (("ip", "10.0.0.1"),),
    )
    quotas = [
        EntryData(
            [EntityData(*part) for part in entity],
            [OpData("connection_creation_rate" if entity[0][0] == "ip" else "producer_byte_rate", 1000.0)],
        )
        for entity in entities
    ]
    users = [
        ScramCredentialUpsertion(name, mechanism, 4096, SALT, bytes(32 * mechanism))
        for name, mechanism in (("alice", 1), ("carol", 2))
    ]
    made: list[tuple[WireMessage, int]] = [
        (CreateTopicsRequest(topics, 30_000), 7),
        (IncrementalAlterConfigsRequest(configs), 1),
        (AlterClientQuotasRequest(quotas), 1),
        (AlterUserScramCredentialsRequest([], users), 0),
    ]
    # By way of our broker.
    for answer in questions.ask(both[1], made):
        assert '"error_code": 0' in str(answer).replace("'", '"'), answer
    for each in both:
        becomes(lambda each=each: len(questions.ask(each, [(MetadataRequest(None), 12)])[0]["topics"]), 3)
        # A real broker applies the default of all brokers later than it knows of it.
        becomes(lambda each=each: segment_bytes(each, "wide"), "2000000")


def segment_bytes(port: int, topic: str) -> Any:
    asked = DescribeConfigsRequest([DescribeConfigsResource(questions.TOPIC, topic, ["segment.bytes"])])
    return questions.ask(port, [(asked, 4)])[0]["results"][0]["configs"][0]["value"]


def knows_groups(cluster: MixedCluster) -> bool:
    return not cluster.nodes[REAL].release.startswith("3.")


def assert_same(cluster: MixedCluster, requested: Iterable[tuple[WireMessage, int]]) -> None:
    requested = list(requested)
    assert_alike(cluster, requested, requested)


def assert_alike(
    cluster: MixedCluster, requested: list[tuple[WireMessage, int]], asked_of_ours: list[tuple[WireMessage, int]]
) -> None:
    """The second list is for our broker: it may name other brokers."""
    real = responses(cluster, REAL, OURS, requested)
    ours = responses(cluster, OURS, REAL, asked_of_ours)
    different = [
        f"{type(message).__name__} v{version}: {difference}"
        for (message, version), theirs, own in zip(requested, real, ours, strict=True)
        for difference in differences(theirs, own)
    ]
    assert different == [], "\n".join(different)


def responses(cluster: MixedCluster, own: int, other: int, requested: list[tuple[WireMessage, int]]) -> Any:
    """The responses of a broker, with its id as `own` and the other one's as `other`."""
    text = json.dumps(questions.ask(port(cluster, own), requested))
    for number, name in ((own, "own"), (other, "other")):
        text = text.replace(f"expected {number}", f"expected {name}").replace(f"received {number}", f"received {name}")
        # In answers about changes, which have the type before the name.
        text = text.replace(f'"resource_type": 4, "resource_name": "{number}"', f'"resource_name": "{name}"')
    # Names of Scala's and Java's own.
    text = re.sub(r"\b(?:Hash)?Set\(([^)]*)\)", r"[\1]", text)
    text = text.replace("requirement failed: ", "")
    text = re.sub(
        r"Invalid value \S+ConfigException: (.*?) for configuration Invalid dynamic configuration", r"\1", text
    )
    return json.loads(text)


def versions(cluster: MixedCluster, api_key: int) -> Any:
    real, ours = (questions.offered(port(cluster, node_id), api_key) for node_id in (REAL, OURS))
    assert real == ours
    return real


def test_topics_and_brokers(cluster: MixedCluster) -> None:
    everything = questions.ask(port(cluster, REAL), [(MetadataRequest(None), 12)])[0]
    ids = [bytes.fromhex(topic["topic_id"]) for topic in everything["topics"] if topic["name"] != "narrow"]
    assert_same(cluster, questions.metadata_questions(versions(cluster, 3), [*ids, b"?" * 16]))
    assert_same(cluster, questions.cluster_questions(versions(cluster, 60)))
    if versions(cluster, 75) is not None:
        assert_same(cluster, questions.topic_questions())


def test_configs(cluster: MixedCluster) -> None:
    kinds = [questions.TOPIC, questions.BROKER, questions.LOGGER, questions.METRICS]
    kinds += [questions.GROUP] if knows_groups(cluster) else []
    assert_same(cluster, questions.config_questions(versions(cluster, 32), kinds))
    assert_same(cluster, questions.resource_questions(versions(cluster, 74)))


def test_quotas_users_and_rights(cluster: MixedCluster) -> None:
    assert_same(cluster, questions.quota_questions(versions(cluster, 48)))
    assert_same(cluster, questions.user_questions())


def test_changes_of_brokers_configs_that_brokers_refuse(cluster: MixedCluster) -> None:
    real, ours = (list(questions.alter_questions(own, other)) for own, other in ((REAL, OURS), (OURS, REAL)))
    assert_alike(cluster, real, ours)
