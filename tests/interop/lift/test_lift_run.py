"""`falkirk lift run` on real Kafka: the level falls under load, nothing acked is lost, and no trace is left."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from client_load import ClientLoads, client_loads
from falkirk_program import PROGRAM, Ended, falkirk, log_dirs
from kafka_cluster import COMBINED, Clusters, KafkaCluster
from kafka_node import BROKER, CONTROLLER
from kafka_ports import free_ports
from topic_state import await_in_sync

pytestmark = pytest.mark.interop
EXTRA = 9001
BOOTSTRAP = "bootstrap.checkpoint"
ONE = {1: COMBINED}
THREE = dict.fromkeys((1, 2, 3), COMBINED)
SEPARATE = {1: (CONTROLLER,), 2: (CONTROLLER,), 3: (CONTROLLER,), 11: (BROKER,), 12: (BROKER,)}
# `follow` may be done before anybody looks.
STEPS = ("observe", "join", "lead", "lower", "return", "leave", "end")
LIBRARIES = ("librdkafka", "java-4.3.1")


class Lifted:
    """A cluster of real Kafka 4.3.1, under load, and the file of its lift."""

    def __init__(self, cluster: KafkaCluster, file: Path, loads: ClientLoads) -> None:
        self.cluster = cluster
        self.file = file
        self.loads = loads

    def lift(self, command: str) -> Ended:
        return falkirk("lift", command, self.file, "--json")

    def events(self, ended: Ended) -> list[tuple[str | None, str]]:
        """The steps and events that a command printed."""
        entries = [json.loads(line) for line in ended.stdout.splitlines()]
        return [(entry["step"], entry["event"]) for entry in entries]

    def status(self) -> dict[str, Any]:  # Any: a JSON document
        return self.lift("status").document

    def check_voters(self) -> None:
        """The voters are those of before, and falkirk's controller runs no more."""
        status = self.status()
        voters = [voter["node_id"] for voter in status["originals"]["voters"]]
        assert status["quorum"]["voters"] == voters
        assert status["quorum"]["leader_id"] in voters
        pid = (self.file.parent / "lift-controller" / "pid").read_text().strip()
        # One whose parent was killed may wait for somebody to collect it: it has no command line any more.
        command_line = Path(f"/proc/{pid}/cmdline")
        assert not command_line.exists() or not command_line.read_bytes()

    def check_no_trace(self) -> None:
        """No snapshot of a stopped node names falkirk or its controller."""
        shown = falkirk("logdir", "inspect", *log_dirs(self.cluster), "--json")
        assert shown.status == 0, shown
        assert str(EXTRA) not in shown.stdout
        for path in log_dirs(self.cluster):
            for snapshot in sorted(path.glob("__cluster_metadata-0/*.checkpoint"))[-1:]:
                assert b"falkirk" not in snapshot.read_bytes()


@contextmanager
def under_load(
    clusters: Clusters, tmp_path: Path, roles: Mapping[int, tuple[str, ...]], **fields: object
) -> Iterator[Lifted]:
    """A running cluster with clients that produce and consume; at the end they have lost nothing."""
    cluster = clusters.new("4.3.1", roles, dynamic=True)
    cluster.format()
    cluster.start()
    [port] = free_ports(1)
    document = {
        "bootstrap_servers": cluster.bootstrap_servers.split(","),
        "target": "3.9",
        "place": {"node_id": EXTRA, "listener": f"127.0.0.1:{port}", "directory": "lift-controller"},
        **fields,
    }
    file = tmp_path / "lift.yaml"
    file.write_text(yaml.safe_dump(document))
    brokers = sum(BROKER in each for each in roles.values())
    try:
        with client_loads(LIBRARIES, cluster.bootstrap_servers, tmp_path, replication_factor=brokers) as loads:
            yield Lifted(cluster, file, loads)
            loads.await_rounds(1)
            loads.check()
    finally:
        kill_controller(tmp_path)


def kill_controller(tmp_path: Path) -> bool:
    """Kill falkirk's controller; False if it does not run."""
    try:
        pid = int((tmp_path / "lift-controller" / "pid").read_text())
        os.kill(pid, signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        return False
    return True


@pytest.mark.parametrize(
    "roles",
    [
        pytest.param(ONE, id="one"),
        pytest.param(THREE, id="combined", marks=pytest.mark.full),
        pytest.param(SEPARATE, id="separate", marks=pytest.mark.full),
    ],
)
def test_a_cluster_goes_down_and_then_its_binaries(
    clusters: Clusters, tmp_path: Path, roles: Mapping[int, tuple[str, ...]]
) -> None:
    with under_load(clusters, tmp_path, roles) as lifted:
        ended = lifted.lift("run")
        assert ended.status == 0, ended
        done = [step for step, event in lifted.events(ended) if event == "done"]
        assert tuple(step for step in done if step != "follow") == STEPS
        assert lifted.status()["level"] == "3.9-IV0"
        lifted.check_voters()
        assert lifted.lift("run").status == 1, "what is over is not run again"
        lifted.loads.await_rounds(1)
        # Only with more than one node clients go on meanwhile.
        if len(roles) > 1:
            for node in lifted.cluster.nodes.values():
                node.run_as("3.9.1", without=[BOOTSTRAP])
                brokers = [node_id for node_id, kinds in roles.items() if BROKER in kinds]
                await_in_sync([lifted.cluster.nodes[each].layout.broker_port for each in brokers], brokers)
    lifted.cluster.stop()
    lifted.check_no_trace()
    assert "falkirk" in (tmp_path / "lift-state" / "report.html").read_text()


@pytest.mark.full
@pytest.mark.parametrize("step", ["observe", "join", "lead", "lower", "return", "leave"])
@pytest.mark.parametrize("victim", ["command", "controller"])
def test_whatever_is_killed_at_whatever_step_the_next_run_goes_on(
    clusters: Clusters, tmp_path: Path, step: str, victim: str
) -> None:
    with under_load(clusters, tmp_path, ONE, limits={"step_s": 60, "metadata_outage_s": 50}) as lifted:
        command = [str(PROGRAM), "lift", "run", str(lifted.file), "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            assert run.stdout is not None
            for line in run.stdout:
                entry = json.loads(line)
                if (entry["step"], entry["event"]) == (step, "begun"):
                    if victim == "command" or not kill_controller(tmp_path):
                        run.kill()
                    break
            run.communicate(timeout=120)
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
def test_a_lift_is_given_up_before_the_level_is_low_and_not_after(clusters: Clusters, tmp_path: Path) -> None:
    with under_load(clusters, tmp_path, ONE, limits={"step_s": 60, "metadata_outage_s": 50}) as lifted:
        command = [str(PROGRAM), "lift", "run", str(lifted.file), "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
            assert run.stdout is not None
            for line in run.stdout:
                entry = json.loads(line)
                if (entry["step"], entry["event"]) == ("join", "done"):
                    break
            run.kill()
        ended = lifted.lift("abort")
        assert ended.status == 0, ended
        assert lifted.status()["level"] == "4.3-IV0"
        lifted.check_voters()
        assert lifted.lift("abort").status == 1, "there is nothing to give up any more"
