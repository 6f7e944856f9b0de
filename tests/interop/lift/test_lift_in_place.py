"""`falkirk lift run` in place of controllers of real Kafka, whose voters may be static; hooks stop and start nodes."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from kafka_cluster import Clusters
from kafka_node import BROKER, CONTROLLER
from lifted_cluster import Lifted, under_load
from node_hooks import IN_PLACE

pytestmark = pytest.mark.interop
ONE = {1: (CONTROLLER,), 11: (BROKER,)}
THREE = {1: (CONTROLLER,), 2: (CONTROLLER,), 3: (CONTROLLER,), 11: (BROKER,), 12: (BROKER,)}
LIMITS = {"step_s": 100, "metadata_outage_s": 60}


def done_steps(lifted: Lifted) -> list[str]:
    return [entry["step"] for entry in lifted.status()["entries"] if entry["event"] == "done"]


@pytest.mark.parametrize(
    ("roles", "dynamic"),
    [
        pytest.param(ONE, False, id="one"),
        pytest.param(THREE, False, id="static", marks=pytest.mark.full),
        pytest.param(THREE, True, id="dynamic", marks=pytest.mark.full),
    ],
)
def test_a_cluster_goes_down_in_place_and_its_nodes_are_rolled(
    clusters: Clusters, tmp_path: Path, roles: Mapping[int, tuple[str, ...]], dynamic: bool
) -> None:
    hooks = (*IN_PLACE, "roll")
    with under_load(clusters, tmp_path, roles, dynamic=dynamic, hooks=hooks, place="in-place", limits=LIMITS) as lifted:
        ended = lifted.lift("run")
        assert ended.status == 0, ended
        status = lifted.status()
        assert status["level"] == "3.9-IV0"
        assert {node["node_id"]: node["on_target"] for node in status["nodes"]} == dict.fromkeys(roles, True)
        assert {node.release for node in lifted.cluster.nodes.values()} == {"3.9.1"}
        controllers = [node_id for node_id, kinds in roles.items() if CONTROLLER in kinds]
        replaced = [step for step in done_steps(lifted) if step.startswith("replace-")]
        assert 2 * len(replaced) > len(controllers)
        lifted.check_voters()
    lifted.cluster.stop()
    lifted.check_no_trace()
