"""`falkirk lift run` in place of controllers of real Kafka, whose voters may be static; hooks stop and start nodes."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from falkirk_node import FalkirkNode
from kafka_cluster import Clusters
from kafka_node import BROKER, CONTROLLER
from kafka_tools import FEATURES, outputs
from lifted_cluster import SESSIONS, Lifted, under_load
from node_hooks import IN_PLACE
from operator_load import PROTOCOLS

pytestmark = pytest.mark.interop
ONE = {1: (CONTROLLER,), 11: (BROKER,)}
THREE = {1: (CONTROLLER,), 2: (CONTROLLER,), 3: (CONTROLLER,), 11: (BROKER,), 12: (BROKER,)}
COMBINED = dict.fromkeys((1, 2, 3), (BROKER, CONTROLLER))
FOUR = dict.fromkeys((1, 2, 3, 4), (CONTROLLER,)) | dict.fromkeys((11, 12), (BROKER,))
# It has the consumer protocol in early access only.
PROTOCOLS_OF = {"3.9.1": ("classic",)}
LIMITS = {"step_s": 100, "metadata_outage_s": 60}


def done_steps(lifted: Lifted) -> list[str]:
    return [entry["step"] for entry in lifted.status()["entries"] if entry["event"] == "done"]


@pytest.mark.parametrize(
    ("roles", "dynamic", "older"),
    [
        pytest.param(ONE, False, "3.9.1", id="one"),
        pytest.param(THREE, False, "3.9.1", id="static", marks=pytest.mark.full),
        pytest.param(THREE, True, "3.9.1", id="dynamic", marks=pytest.mark.full),
        # Below 3.9 voters must be static.
        pytest.param(THREE, False, "3.7.2", id="oldest", marks=pytest.mark.full),
    ],
)
def test_a_cluster_goes_down_in_place_and_its_nodes_are_rolled(
    clusters: Clusters, tmp_path: Path, roles: Mapping[int, tuple[str, ...]], dynamic: bool, older: str
) -> None:
    fields = {"place": "in-place", "limits": LIMITS, "target": older.rpartition(".")[0]}
    hooks = (*IN_PLACE, "roll")
    with under_load(clusters, tmp_path, roles, dynamic=dynamic, hooks=hooks, older=older, **fields) as lifted:
        ended = lifted.lift("run")
        assert ended.status == 0, ended
        status = lifted.status()
        assert status["level"] == {"3.9.1": "3.9-IV0", "3.7.2": "3.7-IV4"}[older]
        assert {node["node_id"]: node["on_target"] for node in status["nodes"]} == dict.fromkeys(roles, True)
        assert {node.release for node in lifted.cluster.nodes.values()} == {older}
        controllers = [node_id for node_id, kinds in roles.items() if CONTROLLER in kinds]
        replaced = [step for step in done_steps(lifted) if step.startswith("replace-")]
        assert 2 * len(replaced) > len(controllers)
        lifted.check_voters()
    lifted.cluster.stop()
    lifted.check_no_trace()


@pytest.mark.parametrize(
    ("roles", "dynamic"),
    [
        pytest.param(COMBINED, False, id="combined-static"),
        pytest.param(COMBINED, True, id="combined-dynamic", marks=pytest.mark.full),
        pytest.param(THREE, False, id="static", marks=pytest.mark.full),
        pytest.param(FOUR, True, id="four", marks=pytest.mark.full),
    ],
)
def test_one_controller_of_falkirk_commits_by_the_snapshot(
    clusters: Clusters, tmp_path: Path, roles: Mapping[int, tuple[str, ...]], dynamic: bool
) -> None:
    fields = {"place": "in-place-of-one", "limits": LIMITS}
    with under_load(clusters, tmp_path, roles, dynamic=dynamic, hooks=(*IN_PLACE, "roll"), **fields) as lifted:
        ended = lifted.lift("run")
        assert ended.status == 0, ended
        status = lifted.status()
        assert status["level"] == "3.9-IV0"
        assert {node.release for node in lifted.cluster.nodes.values()} == {"3.9.1"}
        assert list((lifted.file.parent / "lift-state").glob("*.zip")), "the undo bundle is kept"
        [replaced] = [step for step in done_steps(lifted) if step.startswith("replace-")]
        # Kafka's controllers are never restarted for it.
        before_roll = [node_id for hook, node_id in lifted.hooks.done if hook != "roll"]
        assert {f"replace-{node_id}" for node_id in before_roll} == {replaced}
        lifted.check_voters()
    lifted.cluster.stop()
    lifted.check_no_trace()


@pytest.mark.full
@pytest.mark.parametrize("place", ["in-place", "in-place-of-one"])
@pytest.mark.parametrize(
    "releases", [("3.9.1", "3.7.2"), ("4.0.0", "3.9.1"), ("4.4.0", "4.3.1")], ids=lambda each: each[0]
)
def test_controllers_of_other_releases_go_down_in_place(
    clusters: Clusters, tmp_path: Path, place: str, releases: tuple[str, str]
) -> None:
    release, older = releases
    cluster = clusters.new(release, THREE, settings=SESSIONS)
    cluster.format()
    cluster.start()
    fields = {"place": place, "limits": LIMITS, "target": older.rpartition(".")[0]}
    hooks, protocols = (*IN_PLACE, "roll"), PROTOCOLS_OF.get(release, PROTOCOLS)
    with under_load(
        clusters, tmp_path, THREE, made=cluster, hooks=hooks, older=older, protocols=protocols, **fields
    ) as lifted:
        level = lifted.check()["to"]["name"]
        ended = lifted.lift("run")
        assert ended.status == 0, ended
        assert lifted.status()["level"] == level
        assert {node.release for node in cluster.nodes.values()} == {older}
        lifted.check_voters()
    cluster.stop()
    lifted.check_no_trace()


def begun(step: str) -> Callable[[dict[str, object]], bool]:
    return lambda entry: (entry["step"], entry["event"]) == (step, "begun")


@pytest.mark.full
@pytest.mark.parametrize("step", ["replace-1", "lower", "restore-1", "roll-11", "roll-1"])
def test_a_command_that_is_killed_in_any_step_is_ended_by_the_next(
    clusters: Clusters, tmp_path: Path, step: str
) -> None:
    hooks = (*IN_PLACE, "roll")
    with under_load(clusters, tmp_path, ONE, dynamic=False, hooks=hooks, place="in-place", limits=LIMITS) as lifted:
        lifted.kill_run(begun(step))
        assert not lifted.status()["over"]
        ended = lifted.lift("run")
        assert ended.status == 0, ended
        assert lifted.status()["level"] == "3.9-IV0"
        assert {node.release for node in lifted.cluster.nodes.values()} == {"3.9.1"}
        lifted.check_voters()
    lifted.cluster.stop()
    lifted.check_no_trace()


@pytest.mark.full
@pytest.mark.parametrize(
    ("place", "roles"),
    [
        pytest.param("in-place", ONE, id="one"),
        pytest.param("in-place", THREE, id="majority"),
        pytest.param("in-place-of-one", COMBINED, id="one-of-three"),
    ],
)
@pytest.mark.parametrize(
    "reached",
    [("replace", "done"), ("lead", "begun"), ("lower", "begun"), (None, "level-lowered"), ("restore", "begun")],
    ids=["replaced", "lead", "lower", "lowered", "restore"],
)
def test_falkirks_controller_is_killed_and_the_lift_goes_on(
    clusters: Clusters,
    tmp_path: Path,
    place: str,
    roles: Mapping[int, tuple[str, ...]],
    reached: tuple[str | None, str],
) -> None:
    """It is the only controller, a majority (all of them are killed), or one of three nodes."""
    with under_load(clusters, tmp_path, roles, dynamic=False, hooks=IN_PLACE, place=place, limits=LIMITS) as lifted:

        def kill() -> bool:
            ours = [node for node in lifted.cluster.nodes.values() if isinstance(node, FalkirkNode)]
            for node in ours:
                node.kill()
            return bool(ours)

        def is_reached(entry: dict[str, object]) -> bool:
            step = None if entry["step"] is None else str(entry["step"]).partition("-")[0]
            return (step, entry["event"]) == reached

        lifted.kill_run(is_reached, kill)
        if not lifted.status()["over"]:
            assert reached != (None, "level-lowered"), "it is started again"
            ended = lifted.lift("run")
            assert ended.status == 0, ended
        is_lifted = lifted.status()["entries"][-1]["event"] == "finished"
        assert lifted.status()["level"] == ("3.9-IV0" if is_lifted else "4.3-IV0")
        assert not [node for node in lifted.cluster.nodes.values() if isinstance(node, FalkirkNode)]
        lifted.check_voters()
    # What hooks have started ended with them.
    lifted.cluster.kill()
    lifted.check_no_trace()


@pytest.mark.full
@pytest.mark.parametrize("number", range(4))
def test_a_lift_in_place_is_given_up_in_each_step_before_the_level_is_low(
    clusters: Clusters, tmp_path: Path, number: int
) -> None:
    """Steps: two controllers are replaced, one of falkirk's leads, the level is lowered; `lead` may be done at once."""
    begun_steps: list[object] = []

    def is_reached(entry: dict[str, object]) -> bool:
        begun_steps.extend([entry["step"]] if entry["event"] == "begun" else [])
        return len(begun_steps) > number or "lower" in begun_steps

    with under_load(
        clusters, tmp_path, THREE, dynamic=False, hooks=IN_PLACE, place="in-place", limits=LIMITS
    ) as lifted:
        lifted.kill_run(is_reached)
        ended = lifted.lift("abort")
        status = lifted.status()
        if begun_steps[-1] == "lower" and ended.status == 1:
            assert "the level is low already" in ended.stderr
            assert lifted.lift("run").status == 0
        else:
            assert ended.status == 0, ended
            assert status["level"] == "4.3-IV0"
        assert not [node for node in lifted.cluster.nodes.values() if isinstance(node, FalkirkNode)]
        lifted.check_voters()


@pytest.mark.full
def test_a_hook_that_fails_restores_kafka(clusters: Clusters, tmp_path: Path) -> None:
    hooks = ("stop", "start", "stop_falkirk")
    commands = {"start_falkirk": "echo no such unit >&2; exit 5"}
    with under_load(
        clusters, tmp_path, ONE, dynamic=False, hooks=hooks, commands=commands, place="in-place", limits=LIMITS
    ) as lifted:
        ended = lifted.lift("run")
        assert ended.status == 1
        assert "hook start_falkirk of node 1 ended with status 5; the last line of " in ended.stderr
        assert "hooks.log: no such unit. The voters are 1 again, as before" in ended.stderr
        assert lifted.status()["level"] == "4.3-IV0"
        lifted.check_voters()


@pytest.mark.full
def test_what_has_no_hook_is_printed_and_waited_for(clusters: Clusters, tmp_path: Path) -> None:
    limits = {"step_s": 30, "metadata_outage_s": 60}
    with under_load(clusters, tmp_path, ONE, dynamic=False, place="in-place", limits=limits) as lifted:
        status, entries = lifted.run_by_hand()
        assert status == 0, entries
        by_hand = [entry["fields"]["hook"] for entry in entries if entry["event"] == "by-hand"]
        assert by_hand == ["stop", "start_falkirk", "stop_falkirk", "start"]
        [left] = [entry["fields"]["nodes"] for entry in entries if entry["event"] == "to-roll"]
        assert left == [11, 1]
        assert lifted.status()["level"] == "3.9-IV0"
        lifted.check_voters()
        # What falkirk would have left registered, or Kafka's controller not registered anew, is in the way here.
        servers = ["--bootstrap-server", lifted.cluster.bootstrap_servers]
        outputs([FEATURES, *servers, "upgrade", "--release-version", "4.3-IV0"])
        assert lifted.status()["level"] == "4.3-IV0"
