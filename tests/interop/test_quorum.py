"""`falkirk quorum` on real Kafka, beside kafka-metadata-quorum: static voters of 3.9, dynamic ones of 4.3."""

import re
from typing import Any

import pytest
from falkirk_node import FalkirkNode
from falkirk_program import falkirk
from kafka_cluster import Clusters, KafkaCluster
from kafka_tools import FEATURES, QUORUM, outputs
from waiting import becomes

pytestmark = pytest.mark.interop
_CONTROLLER, _BROKER = ("controller",), ("broker",)


def without_moment(text: str) -> list[str]:
    """Lines of a description without its times and offsets, which are other ones a moment later."""
    text = re.sub(r"(?m)^((?:HighWatermark|MaxFollowerLag(?:TimeMs)?): +)-?\d+$", r"\1<number>", text)
    text = re.sub(r"\b\d{13}\b|\b\d+ ms ago +", "<time>", text)
    text = re.sub(r"(?m)^(\d+ *\t\S+\t)\d+ *\t\d+ *\t", r"\1<end>\t<lag>\t", text)
    return re.sub(r"<time> *", "<time>", text).split("\n")


def describe(cluster: KafkaCluster, *options: str) -> None:
    """Describe the quorum with both tools, by brokers and by controllers."""
    controllers = ",".join(
        f"127.0.0.1:{layout.controller_port}" for layout in cluster.layouts if layout.roles == _CONTROLLER
    )
    for servers in (["--bootstrap-server", cluster.bootstrap_servers], ["--bootstrap-controller", controllers]):
        words = [*servers, "describe", *options]
        [reported] = outputs([QUORUM, *words])
        ours = falkirk("quorum", *words)
        assert ours.status == 0, ours
        assert without_moment(ours.stdout.strip()) == without_moment(reported.strip())


@pytest.mark.full
@pytest.mark.parametrize(
    ("release", "reason"),
    [
        ("3.7.2", "RemoveRaftVoter (API 81) cannot be used"),
        ("3.9.1", "Cluster doesn't support removing voter because the kraft.version feature is 0"),
    ],
)
def test_static_voters_are_described_as_by_the_tool_and_cannot_be_changed(
    clusters: Clusters, release: str, reason: str
) -> None:
    cluster = clusters.new(release, {1: _CONTROLLER, 2: _CONTROLLER, 11: _BROKER})
    cluster.format()
    cluster.start()
    for options in (("--status",), ("--replication",), ("--replication", "--human-readable")):
        describe(cluster, *options)
    servers = ["--bootstrap-server", cluster.bootstrap_servers]
    directory = ["--controller-directory-id", "AAAAAAAAAAAAAAAAAAAAAw"]
    refused = falkirk("quorum", *servers, "remove", "--controller-id", "2", *directory)
    assert refused.status == 1
    assert reason in refused.stderr


@pytest.mark.full
@pytest.mark.parametrize("release", ["4.3.1", "4.4.0"])
def test_static_voters_become_dynamic(clusters: Clusters, release: str) -> None:
    cluster = clusters.new(release, {1: _CONTROLLER, 2: _CONTROLLER, 11: _BROKER})
    cluster.format()
    cluster.start()
    servers = ["--bootstrap-server", cluster.bootstrap_servers]
    # The voters tell the leader what they support a moment after their start.
    becomes(lambda: falkirk("quorum", *servers, "upgrade", "--dry-run").stdout, "kraft.version can be upgraded to 1.\n")
    done = falkirk("quorum", *servers, "upgrade")
    assert (done.status, done.stdout) == (0, "kraft.version was upgraded to 1.\n"), done

    def kraft_version_and_directories() -> tuple[int, bool]:
        document = falkirk("quorum", *servers, "describe", "--json").document
        return document["kraft_version"], all(each["directory_id"] for each in document["voters"])

    becomes(kraft_version_and_directories, (1, True))
    describe(cluster, "--status")


@pytest.mark.full
def test_dynamic_voters_are_described_removed_and_added_as_by_the_tool(clusters: Clusters) -> None:
    cluster = clusters.new("4.3.1", {1: _CONTROLLER, 2: _CONTROLLER, 3: _CONTROLLER, 11: _BROKER}, dynamic=True)
    cluster.format()
    cluster.start()
    servers = ["--bootstrap-server", cluster.bootstrap_servers]
    for options in (("--status",), ("--replication",)):
        describe(cluster, *options)

    def members() -> tuple[set[int], set[int]]:
        document = falkirk("quorum", *servers, "describe", "--json").document
        return (
            {each["node_id"] for each in document["voters"]},
            {each["node_id"] for each in document["observers"]},
        )

    leader = falkirk("quorum", *servers, "describe", "--json").document["leader_id"]
    removed = next(each for each in (1, 2, 3) if each != leader)
    ended = falkirk("quorum", *servers, "remove", "--controller-id", str(removed))
    assert (ended.status, ended.stdout[: len("Removed  KRaft")]) == (0, "Removed  KRaft"), ended
    becomes(members, ({1, 2, 3} - {removed}, {removed, 11}))
    file = str(cluster.nodes[removed].properties_file)
    added = ["--command-config", file, "add-controller"]
    [dry] = outputs([QUORUM, *servers, *added, "--dry-run"])
    assert falkirk("quorum", *servers, *added, "--dry-run").stdout.strip() == dry.strip()
    ended = falkirk("quorum", *servers, *added)
    assert (ended.status, ended.stdout.strip()) == (0, dry.strip().replace("DRY RUN of adding", "Added")), ended
    becomes(members, ({1, 2, 3}, {11}))
    again = falkirk("quorum", *servers, *added)
    assert again.status == 1
    assert "DUPLICATE_VOTER: The voter id for ReplicaKey(" in again.stderr
    describe(cluster, "--status")


@pytest.mark.full
@pytest.mark.parametrize("ours", [{3}, {1, 2}], ids=["kafka-leads", "falkirk-leads"])
def test_static_voters_of_kafka_and_of_falkirk_become_dynamic_together(clusters: Clusters, ours: set[int]) -> None:
    """Those of the kind that has a majority start first, so one of them leads."""
    cluster = clusters.new("4.3.1", {1: _CONTROLLER, 2: _CONTROLLER, 3: _CONTROLLER, 11: _BROKER})
    cluster.format()
    nodes = cluster.nodes
    for node_id in ours:
        node = nodes[node_id]
        nodes[node_id] = FalkirkNode(
            node.release, node.layout, node.quorum, home=node.home.with_name(f"ours-{node_id}"), settings=node.settings
        )
    first = ours if len(ours) > 1 else {1, 2, 3} - ours
    for some in ({*first, 11}, {1, 2, 3} - first):
        for node_id in some:
            nodes[node_id].start()
        for node_id in some:
            nodes[node_id].wait_started()
    servers = ["--bootstrap-server", cluster.bootstrap_servers]

    def quorum() -> dict[str, Any]:
        ended = falkirk("quorum", *servers, "describe", "--json")
        return ended.document if ended.status == 0 else {"leader_id": None, "voters": []}

    becomes(lambda: {each["node_id"] for each in quorum()["voters"]}, {1, 2, 3})
    leader_id = quorum()["leader_id"]
    assert leader_id in first
    becomes(lambda: falkirk("quorum", *servers, "upgrade", "--dry-run").stdout, "kraft.version can be upgraded to 1.\n")
    outputs([FEATURES, *servers, "upgrade", "--feature", "kraft.version=1"])
    becomes(lambda: (quorum()["kraft_version"], all(each["directory_id"] for each in quorum()["voters"])), (1, True))
    # Whoever leads next has the voters from the log alone.
    nodes[leader_id].stop()
    becomes(lambda: quorum()["leader_id"] in {1, 2, 3} - {leader_id}, True)
    nodes[leader_id].start()
    nodes[leader_id].wait_started()
    [other] = {1, 2, 3} - {quorum()["leader_id"], leader_id}
    for command in (
        ["remove", "--controller-id", str(other)],
        ["--command-config", str(nodes[other].properties_file), "add-controller"],
    ):
        ended = falkirk("quorum", *servers, *command)
        assert ended.status == 0, ended
    becomes(lambda: {each["node_id"] for each in quorum()["voters"]}, {1, 2, 3})
