"""`falkirk lift run` goes on when nodes of the cluster are killed meanwhile, and start again."""

from pathlib import Path

import pytest
from kafka_cluster import Clusters
from kafka_node import BROKER, CONTROLLER, KafkaNode
from lifted_cluster import Lifted, under_load
from node_hooks import IN_PLACE
from waiting import await_at_once

pytestmark = [pytest.mark.interop, pytest.mark.full]
SEPARATE = {1: (CONTROLLER,), 2: (CONTROLLER,), 3: (CONTROLLER,), 11: (BROKER,), 12: (BROKER,)}
# What a node logs as it begins to fetch a snapshot.
FETCHING = "Fetching snapshot "


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


@pytest.mark.parametrize("place", ["extra voter", "in-place", "in-place-of-one"])
@pytest.mark.parametrize("step", ["lower", "give back"])
def test_a_controller_that_is_killed_at_the_lowering_or_the_way_back_comes_back(
    clusters: Clusters, tmp_path: Path, place: str, step: str
) -> None:
    """It stays down until the command has ended, unless that starts it; then the next command ends the lift."""
    fields = {} if place == "extra voter" else {"place": place, "hooks": IN_PLACE, "dynamic": False}
    limits = {"step_s": 40, "metadata_outage_s": 60}
    with under_load(clusters, tmp_path, SEPARATE, limits=limits, **fields) as lifted:
        killed: list[KafkaNode] = []

        def is_reached(entry: dict[str, object]) -> bool:
            name = str(entry["step"])
            is_it = name == "lower" if step == "lower" else name == "return" or name.startswith("restore-")
            return is_it and entry["event"] == "begun"

        def kill() -> bool:
            killed.append(controller_of_kafka(lifted))
            killed[0].kill()
            return True

        lifted.kill_run(is_reached, kill)
        [victim] = killed
        if victim is lifted.cluster.nodes[victim.layout.node_id] and victim.pid is None:
            victim.start()
            victim.wait_started()
        if not lifted.status()["over"]:
            ended = lifted.lift("run")
            assert ended.status == 0, ended
        assert lifted.status()["entries"][-1]["event"] == "finished"
        assert lifted.status()["level"] == "3.9-IV0"
        lifted.check_voters()
    # What hooks have started ended with them.
    lifted.cluster.kill()
    lifted.check_no_trace()


def controller_of_kafka(lifted: Lifted) -> KafkaNode:
    """The last controller that runs as Kafka."""
    nodes = [node for node in lifted.cluster.nodes.values() if CONTROLLER in node.layout.roles]
    return [node for node in nodes if type(node) is KafkaNode and node.pid is not None][-1]


def test_a_broker_that_is_killed_in_the_middle_of_its_snapshot_fetches_it_again(
    clusters: Clusters, tmp_path: Path
) -> None:
    with under_load(clusters, tmp_path, SEPARATE, limits={"step_s": 100, "metadata_outage_s": 60}) as lifted:
        node = lifted.cluster.nodes[12]
        fetched = node.log_text().count(FETCHING)

        def restart() -> bool:
            await_at_once(lambda: node.log_text().count(FETCHING) > fetched)
            node.kill()
            node.start()
            return True

        lifted.kill_run(lambda entry: (entry["step"], entry["event"]) == ("lower", "begun"), restart)
        node.wait_started()
        if not lifted.status()["over"]:
            ended = lifted.lift("run")
            assert ended.status == 0, ended
        assert lifted.status()["entries"][-1]["event"] == "finished"
        assert lifted.status()["level"] == "3.9-IV0"
        lifted.check_voters()
    lifted.cluster.stop()
    lifted.check_no_trace()
