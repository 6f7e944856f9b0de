"""Who may do what: every API, asked by users with different rights of a real node and of one of ours, answers alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import broker_questions as questions
import pytest
from falkirk_node import OurCluster
from kafka_answers import differences
from kafka_cluster import COMBINED, node_layouts
from users_with_rights import ROOT, Asked, acls, answers, answers_inside, enveloped, requests, settings
from waiting import becomes

from falkirk.protocol.messages import (
    CreateAclsRequest,
    CreateTopicsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    MetadataRequest,
)
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.versions.api_support import Listener

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafka_cluster import Clusters, KafkaCluster

pytestmark = pytest.mark.interop
RELEASE = "4.3.1"


@dataclass
class Pair:
    """A real node and one of ours with the same topics, groups, ACLs and users."""

    real: KafkaCluster
    ours: KafkaCluster

    def settle(self) -> None:
        """Wait until both brokers know the tokens that were made."""

        def tokens(cluster: KafkaCluster) -> int:
            asked = [Asked(ROOT, "DescribeDelegationToken", 3)]
            return len(answers(cluster.layouts[0].scram_port, asked, {})[0]["tokens"])

        becomes(lambda: tokens(self.real) - tokens(self.ours), 0)

    def topic_ids(self, cluster: KafkaCluster) -> dict[str, bytes]:
        (answer,) = questions.ask(broker_port(cluster), [(MetadataRequest(None), 12)])
        return {topic["name"]: bytes.fromhex(topic["topic_id"]) for topic in answer["topics"]}


def broker_port(cluster: KafkaCluster) -> int:
    return cluster.layouts[0].broker_port


@pytest.fixture(scope="module")
def running(module_clusters: Clusters, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    real = module_clusters.new(RELEASE, settings=settings())
    home = tmp_path_factory.mktemp("ours")
    ours = module_clusters.adopt(OurCluster(RELEASE, node_layouts(home, {1: COMBINED}), home=home, settings=settings()))
    for cluster in (real, ours):
        cluster.format()
        cluster.start()
        prepare(broker_port(cluster), cluster.layouts[0].scram_port)
    return Pair(real, ours)


def prepare(port: int, scram_port: int) -> None:
    """Make topics, ACLs and the offsets topic; the node knows them at the end."""
    topics = [CreatableTopic(name, 1, 1) for name in ("secret", "other")]
    made = questions.ask(
        port,
        [
            (CreateTopicsRequest(topics, 30_000), 7),
            (CreateAclsRequest(acls()), 3),
            (FindCoordinatorRequest(key="g"), 3),
        ],
    )
    assert [part["error_code"] for part in made[0]["topics"] + made[1]["results"]] == [0] * (2 + len(acls()))
    becomes(lambda: len(questions.ask(port, [(MetadataRequest(None), 12)])[0]["topics"]), 3)
    # What the requests of all users make is there before they are compared.
    made = [Asked(ROOT, api, version) for api, version in (("CreateAcls", 3), ("AlterClientQuotas", 1))]
    answers(scram_port, made, {})
    groups = DescribeGroupsRequest(("g", "h"))
    becomes(lambda: [each["error_code"] for each in questions.ask(port, [(groups, 5)])[0]["groups"]], [0, 0])


@pytest.fixture
def pair(running: Pair) -> Iterator[Pair]:
    yield running
    for node in running.ours.nodes.values():
        print(node.log_tail())  # noqa: T201 - pytest shows it with the failure


def assert_alike(asked: Sequence[Asked], real: Sequence[Any], ours: Sequence[Any]) -> None:
    different = [
        f"{each}: {difference}"
        for each, theirs, own in zip(asked, real, ours, strict=True)
        for difference in differences(theirs, own)
    ]
    assert different == [], f"{len(different)} facts differ\n" + "\n".join(different)


@pytest.mark.parametrize("every_version", [False, pytest.param(True, marks=pytest.mark.full)])
@pytest.mark.parametrize("listener", [Listener.BROKER, Listener.CONTROLLER])
def test_users_with_different_rights_are_answered_as_kafka_answers_them(
    pair: Pair, listener: Listener, every_version: bool
) -> None:
    pair.settle()
    asked = requests(RELEASE, listener, every_version=every_version)
    real, ours = (
        answers(
            cluster.layouts[0].scram_port if listener is Listener.BROKER else cluster.layouts[0].controller_port,
            asked,
            pair.topic_ids(cluster),
        )
        for cluster in (pair.real, pair.ours)
    )
    assert_alike(asked, real, ours)


def test_requests_in_envelopes_are_answered_by_the_rights_of_the_principal_inside(pair: Pair) -> None:
    asked = enveloped(RELEASE)
    real, ours = (
        answers_inside(cluster.layouts[0].controller_port, asked, pair.topic_ids(cluster))
        for cluster in (pair.real, pair.ours)
    )
    assert_alike(asked, real, ours)
