"""`falkirk lift run` on real Kafka: the level falls under load, nothing acked is lost, and no trace is left."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from falkirk_program import falkirk, log_dirs, logdir
from kafka_cluster import COMBINED, Clusters, KafkaCluster
from kafka_node import BROKER, CONTROLLER
from kafka_tools import FEATURES, outputs
from lifted_cluster import EXTRA, kill_controller, under_load

pytestmark = pytest.mark.interop
ONE = {1: COMBINED}
THREE = dict.fromkeys((1, 2, 3), COMBINED)
SEPARATE = {1: (CONTROLLER,), 2: (CONTROLLER,), 3: (CONTROLLER,), 11: (BROKER,), 12: (BROKER,)}
LIMITS = {"step_s": 60, "metadata_outage_s": 50}
# `follow` may be done before anybody looks.
STEPS = ("observe", "join", "lead", "lower", "return", "leave", "end")


@pytest.mark.parametrize(
    ("roles", "dynamic"),
    [
        pytest.param(ONE, True, id="one"),
        pytest.param(ONE, False, id="one-static"),
        pytest.param(THREE, True, id="combined", marks=pytest.mark.full),
        pytest.param(THREE, False, id="combined-static", marks=pytest.mark.full),
        pytest.param(SEPARATE, True, id="separate", marks=pytest.mark.full),
        pytest.param(SEPARATE, False, id="separate-static", marks=pytest.mark.full),
    ],
)
def test_a_cluster_goes_down_and_then_its_binaries(
    clusters: Clusters, tmp_path: Path, roles: Mapping[int, tuple[str, ...]], dynamic: bool
) -> None:
    # Only with more than one node clients go on while each is rolled.
    hooks = ["roll"] if len(roles) > 1 else []
    with under_load(
        clusters, tmp_path, roles, dynamic=dynamic, hooks=hooks, upgrade_kraft_version=not dynamic
    ) as lifted:
        ended = lifted.lift("run")
        assert ended.status == 0, ended
        done = [step for step, event in lifted.events(ended) if event == "done"]
        upgrade = () if dynamic else ("upgrade",)
        rolls = tuple(f"roll-{node_id}" for node_id in sorted(roles, key=lambda each: BROKER not in roles[each]))
        assert tuple(step for step in done if step != "follow") == (*upgrade, *STEPS, *(rolls if hooks else ()))
        status = lifted.status()
        assert status["level"] == "3.9-IV0"
        assert {node["on_target"] for node in status["nodes"]} == {bool(hooks)}
        lifted.check_voters()
        assert lifted.lift("run").status == 1, "what is over is not run again"
        lifted.loads.await_rounds(1)
    lifted.cluster.stop()
    lifted.check_no_trace()
    assert "falkirk" in (tmp_path / "lift-state" / "report.html").read_text()


@pytest.mark.full
@pytest.mark.parametrize("step", ["upgrade", "observe", "join", "lead", "lower", "return", "leave"])
@pytest.mark.parametrize("victim", ["command", "controller"])
def test_whatever_is_killed_at_whatever_step_the_next_run_goes_on(
    clusters: Clusters, tmp_path: Path, step: str, victim: str
) -> None:
    is_static = step == "upgrade"
    with under_load(
        clusters, tmp_path, ONE, dynamic=not is_static, upgrade_kraft_version=is_static, limits=LIMITS
    ) as lifted:
        lifted.kill_run(
            lambda entry: (entry["step"], entry["event"]) == (step, "begun"),
            None if victim == "command" else lambda: kill_controller(tmp_path),
        )
        entries = lifted.status()["entries"]
        if not lifted.status()["over"]:
            ended = lifted.lift("run")
            assert ended.status == 0, ended
            entries = lifted.status()["entries"]
        # Where falkirk's controller died early the quorum may have been given back instead.
        assert entries[-1]["event"] in ("finished", "aborted")
        assert lifted.status()["level"] == ("3.9-IV0" if entries[-1]["event"] == "finished" else "4.3-IV0")
        lifted.check_voters()


@pytest.mark.full
@pytest.mark.parametrize("step", ["upgrade", "observe", "join", "lead"])
def test_a_lift_is_given_up_in_each_step_before_the_level_is_low(clusters: Clusters, tmp_path: Path, step: str) -> None:
    is_static = step == "upgrade"
    with under_load(
        clusters, tmp_path, ONE, dynamic=not is_static, upgrade_kraft_version=is_static, limits=LIMITS
    ) as lifted:
        lifted.kill_run(lambda entry: (entry["step"], entry["event"]) == (step, "begun"))
        ended = lifted.lift("abort")
        assert ended.status == 0, ended
        assert lifted.status()["level"] == "4.3-IV0"
        lifted.check_voters()
        assert lifted.lift("abort").status == 1, "there is nothing to give up any more"


@pytest.mark.full
def test_a_disk_that_is_lost_while_falkirk_votes_alone_is_made_good_by_a_former_voters_log(
    clusters: Clusters, tmp_path: Path
) -> None:
    """As docs/runbooks/lift-failures.md says it."""
    with under_load(clusters, tmp_path, ONE, limits=LIMITS) as lifted:
        lifted.kill_run(lambda entry: (entry["step"], entry["event"]) == ("lead", "done"))
        assert kill_controller(tmp_path)
        shutil.rmtree(lifted.place)
        [source] = (path / "__cluster_metadata-0" for path in log_dirs(lifted.cluster))
        data = lifted.place / "data"
        log = Path(shutil.copytree(source, data / source.name, ignore=shutil.ignore_patterns("quorum-state")))
        files = ",".join(str(path) for path in sorted(log.iterdir()) if path.suffix in (".log", ".checkpoint"))
        dumped = falkirk("dump-log", "--cluster-metadata-decoder", "--files", files)
        assert dumped.status == 0, dumped
        directory_id = re.findall(rf'"voterId":{EXTRA},"voterDirectoryId":"([^"]+)"', dumped.stdout)[-1]
        lines = ("version=1", f"cluster.id={lifted.cluster.cluster_id}", f"node.id={EXTRA}")
        (data / "meta.properties").write_text("\n".join([*lines, f"directory.id={directory_id}", ""]))
        ended = lifted.lift("run")
        assert ended.status == 0, ended
        assert lifted.status()["level"] == "3.9-IV0"
        lifted.check_voters()
    lifted.cluster.stop()
    lifted.check_no_trace()


@pytest.mark.full
def test_a_lifted_cluster_goes_up_again_by_undo_and_by_kafkas_own_upgrade(clusters: Clusters, tmp_path: Path) -> None:
    with under_load(clusters, tmp_path, ONE) as lifted:
        ended = lifted.lift("run")
        assert ended.status == 0, ended
        cluster = lifted.cluster
    cluster.stop()
    [bundle] = (tmp_path / "lift-state").glob("*.zip")
    undone = tmp_path / "undone"
    logdir("undo", *log_dirs(cluster), "--bundle", bundle, "--out", undone)
    logdir("verify", undone, "--release", "4.3.1")
    with cluster.moved_to(undone, "4.3.1", home=tmp_path / "up").running() as up:
        assert level_of(up) == "4.3-IV0"
    with cluster.running():
        assert level_of(cluster) == "3.9-IV0"
        servers = ["--bootstrap-server", cluster.bootstrap_servers]
        outputs([FEATURES, *servers, "upgrade", "--release-version", "4.3-IV0"])
        assert level_of(cluster) == "4.3-IV0"


def level_of(cluster: KafkaCluster) -> str:
    features = falkirk("features", "describe", "--bootstrap-server", cluster.bootstrap_servers, "--json").document
    [level] = [each["finalized_name"] for each in features["features"] if each["feature"] == "metadata.version"]
    assert isinstance(level, str)
    return level
