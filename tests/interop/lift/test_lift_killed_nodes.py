"""`falkirk lift run` goes on when nodes of the cluster are killed meanwhile, and start again."""

from pathlib import Path

import pytest
from kafka_cluster import Clusters
from kafka_node import BROKER, CONTROLLER
from lifted_cluster import under_load

pytestmark = [pytest.mark.interop, pytest.mark.full]
SEPARATE = {1: (CONTROLLER,), 2: (CONTROLLER,), 3: (CONTROLLER,), 11: (BROKER,), 12: (BROKER,)}


@pytest.mark.parametrize(("step", "victim"), [("join", 2), ("lead", 2), ("lower", 12)])
def test_a_node_that_is_killed_meanwhile_comes_back_and_the_lift_goes_on(
    clusters: Clusters, tmp_path: Path, step: str, victim: int
) -> None:
    with under_load(clusters, tmp_path, SEPARATE, limits={"step_s": 100, "metadata_outage_s": 60}) as lifted:
        node = lifted.cluster.nodes[victim]

        def restart() -> bool:
            node.kill()
            node.start()
            return True

        lifted.kill_run(lambda entry: (entry["step"], entry["event"]) == (step, "begun"), restart)
        node.wait_started()
        if not lifted.status()["over"]:
            ended = lifted.lift("run")
            assert ended.status == 0, ended
        is_lifted = lifted.status()["entries"][-1]["event"] == "finished"
        assert lifted.status()["level"] == ("3.9-IV0" if is_lifted else "4.3-IV0")
        lifted.check_voters()
