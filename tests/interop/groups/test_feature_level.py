"""KIP-584's use case, T0 to T5, live: the members of a group go up together with a feature, and never back."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import confluent_kafka.admin as ck_admin
import pytest
from falkirk_node import OurCluster
from held_link import HeldLink
from kafka_cluster import COMBINED, Clusters, KafkaCluster
from kafka_node import BROKER
from level_group import level_group
from waiting import becomes

from falkirk.client.blocking_admin import Admin
from falkirk.client.config import ClientConfig
from falkirk.client.feature_update import FeatureUpdate
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.upgrade_type import UpgradeType

pytestmark = pytest.mark.interop
FEATURE, TOPIC, PARTITIONS = "group.version", "orders", 6
FRESH, STALE, CONTROLLER = 1, 2, 3
# A broker that the controller does not hear for the length of the test is not fenced for it.
SETTINGS = {"broker.session.timeout.ms": "600000"}


@pytest.fixture
def link() -> Iterator[HeldLink]:
    with HeldLink() as made:
        yield made


@pytest.fixture
def cluster(clusters: Clusters, link: HeldLink, tmp_path: Path) -> KafkaCluster:
    """Two brokers, the second of which reaches the controller through the link; a topic; the feature disabled."""
    made = OurCluster.new("4.3.1", tmp_path / "cluster", {FRESH: COMBINED, STALE: (BROKER,)}, settings=SETTINGS)
    clusters.adopt(made)
    controller = made.nodes[FRESH]
    link.set_target(controller.layout.controller_port)
    # Controllers tell who follows them where they listen.
    listeners = {
        "PLAINTEXT": controller.layout.broker_port,
        "SCRAM": controller.layout.scram_port,
        "CONTROLLER": link.port,
    }
    controller.settings["advertised.listeners"] = ",".join(
        f"{name}://127.0.0.1:{port}" for name, port in listeners.items()
    )
    made.nodes[STALE].settings["controller.quorum.voters"] = f"{FRESH}@127.0.0.1:{link.port}"
    made.format(arguments=["--feature", f"{FEATURE}=0"])
    made.start()
    admin = ck_admin.AdminClient({"bootstrap.servers": made.bootstrap_servers, "log_level": 0})
    admin.create_topics([ck_admin.NewTopic(TOPIC, PARTITIONS, 2)], operation_timeout=30)[TOPIC].result(30)
    return made


@pytest.fixture
def admins(cluster: KafkaCluster) -> Iterator[dict[int, Admin]]:
    """An admin client for each node, which sends requests to that node only."""
    layouts = {node_id: node.layout for node_id, node in cluster.nodes.items()}
    ports = {FRESH: layouts[FRESH].broker_port, STALE: layouts[STALE].broker_port}
    ports[CONTROLLER] = layouts[FRESH].controller_port
    with ExitStack() as stack:
        yield {
            node: stack.enter_context(Admin([Endpoint("127.0.0.1", port)], ClientConfig()))
            for node, port in ports.items()
        }


def finalized(admin: Admin) -> int:
    levels = admin.describe_features().finalized_features.get(FEATURE)
    return 0 if levels is None else levels.max_version_level


def finalize(admins: dict[int, Admin], update: FeatureUpdate) -> None:
    assert admins[CONTROLLER].update_features({FEATURE: update}).values == {FEATURE: None}
    becomes(lambda: finalized(admins[FRESH]), update.max_version_level)


def test_members_go_up_together_when_the_leader_hears_of_it_and_never_back(cluster, admins, link):
    with level_group(cluster.bootstrap_servers, TOPIC, FEATURE, partitions=PARTITIONS) as group:
        # T0 to T2: nothing is finalized, and the leader asks in vain.
        group.join()
        group.join()
        group.settle(after=0)
        first = group.generation
        group.ask(admins[FRESH])

        # T3: the operator finalizes the level. A broker that has not heard of it tells the leader nothing new.
        link.hold()
        finalize(admins, FeatureUpdate(1))
        assert finalized(admins[STALE]) == 0
        group.ask(admins[STALE])
        group.go_on()
        assert (group.generation, group.levels) == (first, [0, 0])

        # T3-4: the leader asks one that knows. T5: all run at the new level from the next generation on.
        group.ask(admins[FRESH])
        group.settle(after=first)
        assert group.levels == [1, 1]

        # The leader meets the stale broker again: nothing happens. Whoever comes later starts where the group is.
        second = group.generation
        group.ask(admins[STALE])
        group.go_on()
        assert (group.generation, group.levels) == (second, [1, 1])
        newcomer = group.join()
        group.settle(after=second)
        assert set(newcomer.runs.values()) == {1}

        # Those leave who have heard of it: the newcomer leads, has only the stale broker to ask, and goes on.
        third = group.generation
        for member in [each for each in group.members if each is not newcomer]:
            group.leave(member)
        group.settle(after=third)
        assert group.leader is newcomer
        newcomer.ask(admins[STALE])

        # The feature is taken down under the group, and all brokers say so: it stays, and so does who joins now.
        link.release()
        finalize(admins, FeatureUpdate(0, UpgradeType.SAFE_DOWNGRADE))
        fourth = group.generation
        group.ask(admins[FRESH])
        late = group.join()
        group.settle(after=fourth)
        assert group.levels == [1, 1]
        assert set(late.runs.values()) == {1}

        # Who does not have the level is told so, and the others go on without it.
        old = group.join(highest=0)
        group.wait_until(lambda: old.failure is not None)
        assert str(old.failure) == "the group uses group.version at level 1, this member supports 0"
        fifth = group.generation
        group.leave(old)
        group.settle(after=fifth)
        assert group.levels == [1, 1]

    runs = [run for member in group.everybody for run in member.runs.items()]
    assert [(generation, level) for generation, level in runs if level != (generation > first)] == []
