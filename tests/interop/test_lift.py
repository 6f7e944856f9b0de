"""A running cluster of real Kafka 4.3.1 goes down to 3.9's levels: falkirk is an extra voter for a moment, by hand.

While records are produced: node 9 observes, becomes a voter, then the only one; it lowers the level, the real
controllers vote again, and node 9 goes, leaving no trace.
"""

from pathlib import Path
from typing import Any

import pytest
from falkirk_node import FalkirkNode
from falkirk_program import falkirk
from kafka_cluster import Clusters, KafkaCluster, node_layouts
from kafka_node import Quorum
from kafka_tools import TOPICS, outputs
from mixed_cluster import QUORUM_SETTINGS
from produce_load import producing
from waiting import becomes

from falkirk.client.admin import EndpointType
from falkirk.client.blocking_admin import Admin
from falkirk.client.config import ClientConfig, parse_servers

pytestmark = [pytest.mark.interop, pytest.mark.full]
_VOTERS = (1, 2, 3)
_BROKERS = (11, 12)
_HELPER = 9


class Lift:
    """The cluster, and node 9."""

    def __init__(self, clusters: Clusters, home: Path) -> None:
        roles = dict.fromkeys(_VOTERS, ("controller",)) | dict.fromkeys(_BROKERS, ("broker",))
        self.cluster: KafkaCluster = clusters.new("4.3.1", roles, dynamic=True, settings=QUORUM_SETTINGS)
        [layout] = node_layouts(home, {_HELPER: ("controller",)})
        controllers = tuple(each for each in self.cluster.layouts if each.roles == ("controller",))
        self.ports = {each.node_id: each.controller_port for each in (*controllers, layout)}
        quorum = Quorum(dynamic=True, controllers=controllers)
        settings = QUORUM_SETTINGS | {"falkirk.lift": "true"}
        self.helper = FalkirkNode("4.3.1", layout, quorum, home=home / "helper", settings=settings)
        self.servers = ["--bootstrap-server", self.cluster.bootstrap_servers]

    def start(self) -> None:
        self.cluster.format()
        self.cluster.start()
        self.helper.format(self.cluster.cluster_id, "--no-initial-controllers")
        self.helper.start()
        self.helper.wait_started()

    def run(self, *words: str) -> None:
        ended = falkirk(*words)
        assert ended.status == 0, ended

    def add(self, node_id: int) -> None:
        endpoint = f"CONTROLLER://127.0.0.1:{self.ports[node_id]}"
        words = ["--controller-id", str(node_id), "--controller-endpoint", endpoint]
        self.run("quorum", "add", *self.servers, *words)

    def remove(self, node_id: int) -> None:
        self.run("quorum", "remove", *self.servers, "--controller-id", str(node_id))

    def describe(self) -> dict[str, Any]:  # Any: a JSON document
        """The quorum by any controller that is up; empty while there is no leader."""
        servers = ",".join(f"127.0.0.1:{port}" for node_id, port in self.ports.items() if self._is_up(node_id))
        ended = falkirk("quorum", "describe", "--bootstrap-controller", servers, "--json")
        return ended.document if ended.status == 0 else {}

    def members(self) -> tuple[int | None, set[int], set[int]]:
        """Leader, voters and observers."""
        found = self.describe()
        voters, observers = ({each["node_id"] for each in found.get(kind, ())} for kind in ("voters", "observers"))
        return found.get("leader_id"), voters, observers

    def _is_up(self, node_id: int) -> bool:
        node = self.helper if node_id == _HELPER else self.cluster.nodes[node_id]
        return node.pid is not None


def test_an_extra_voter_lowers_the_level_of_a_running_cluster_and_leaves_no_trace(
    clusters: Clusters, tmp_path: Path
) -> None:
    lift = Lift(clusters, tmp_path)
    lift.start()
    topic = ["--topic", "load", "--partitions", "4", "--replication-factor", "2"]
    outputs([TOPICS, *lift.servers, "--create", *topic])
    dry = falkirk("features", "downgrade-all", "--release", "3.9", "--dry-run", "--json", *lift.servers)
    assert dry.status == 1, "real Kafka refuses"
    assert isinstance(dry.document["losses"], list), dry
    assert "falkirk lift check --to 3.9-IV0" in dry.document["note"]
    try:
        with producing(lift.cluster.bootstrap_servers, "load", tmp_path) as load:
            load.await_more()
            becomes(lambda: lift.members()[1:], ({*_VOTERS}, {*_BROKERS, _HELPER}))
            leader = lift.members()[0]
            assert leader is not None
            lift.add(_HELPER)
            assert lift.members()[0] == leader
            for node_id in sorted(_VOTERS, key=lambda each: each == leader):
                lift.remove(node_id)
            becomes(lift.members, (_HELPER, {_HELPER}, {*_VOTERS, *_BROKERS}))
            load.await_more()
            lowering = ["features", "downgrade-all", "--release", "3.9", "--unsafe", "--allow-forced-snapshot"]
            lift.run(*lowering, *lift.servers)
            load.await_more()
            for node_id in _VOTERS:
                lift.add(node_id)
            lift.remove(_HELPER)
            becomes(lambda: lift.members()[0] in _VOTERS, True)
            lift.helper.stop()
            load.await_more()
            result = load.finish()
    finally:
        print(lift.helper.log_tail(200))  # noqa: T201 - pytest shows it with the failure
    assert (result["missing"], result["failures"]) == ([], {})
    assert lift.members()[1] == {*_VOTERS}
    controllers = parse_servers(",".join(f"127.0.0.1:{lift.ports[node_id]}" for node_id in _VOTERS))
    with Admin(controllers, ClientConfig(), endpoint_type=EndpointType.CONTROLLER) as admin:
        assert {node.node_id for node in admin.describe_cluster().nodes} == {*_VOTERS}
    features = falkirk("features", "describe", *lift.servers, "--json").document["features"]
    levels = {each["feature"]: each["finalized_name"] for each in features}
    assert levels["metadata.version"] == "3.9-IV0"
    assert not [name for name in levels if name.startswith("falkirk.")]
    outputs([TOPICS, *lift.servers, "--create", "--topic", "after"])
    # What real controllers would refuse to read ends them at their start.
    for node_id in _VOTERS:
        lift.cluster.nodes[node_id].stop()
        lift.cluster.nodes[node_id].start()
        lift.cluster.nodes[node_id].wait_started()
