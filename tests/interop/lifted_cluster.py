"""Real Kafka under load, with the file of its lift; what has to hold afterwards."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from client_load import ClientLoads, client_loads
from controller_security import SCRAM_USER, ControllerSecurity
from falkirk_program import PROGRAM, Ended, falkirk, log_dirs
from kafka_cluster import DEFAULT_SETTINGS, Clusters, KafkaCluster
from kafka_node import BROKER
from kafka_ports import free_ports
from node_hooks import NodeHooks

EXTRA = 9001
NO_COMMANDS: Mapping[str, str] = {}
LIBRARIES = ("librdkafka", "java-4.3.1")


class Lifted:
    """A cluster of real Kafka 4.3.1, under load, and the file of its lift."""

    def __init__(self, cluster: KafkaCluster, file: Path, loads: ClientLoads, hooks: NodeHooks) -> None:
        self.cluster = cluster
        self.hooks = hooks
        self.file = file
        self.loads = loads

    def lift(self, command: str) -> Ended:
        return falkirk("lift", command, self.file, "--json")

    def check(self) -> dict[str, Any]:  # Any: a JSON document
        """Run `lift check` with the connections of the file."""
        document = yaml.safe_load(self.file.read_text())
        words = ["--bootstrap-server", ",".join(document["bootstrap_servers"]), "--to", document["target"]]
        for key in ("command_config", "controller_command_config"):
            if key in document:
                words += [f"--{key.replace('_', '-')}", str(self.file.parent / document[key])]
        return falkirk("lift", "check", *words, "--json").document

    def run_by_hand(self) -> tuple[int, list[dict[str, Any]]]:
        """Run the lift and do what it prints as to do; return its status and what it printed."""
        command = [str(PROGRAM), "lift", "run", str(self.file), "--json"]
        entries = []
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
            assert run.stdout is not None
            for line in run.stdout:
                entries.append(json.loads(line))
                if entries[-1]["event"] == "by-hand":
                    fields = entries[-1]["fields"]
                    assert self.hooks.run(fields["hook"], fields["node_id"]) == ""
            return run.wait(), entries

    def kill_run(self, is_reached: Callable[[dict[str, Any]], bool], kill: Callable[[], bool] | None = None) -> None:
        """Run the lift; at the first such entry of the journal kill the command, or call `kill`."""
        command = [str(PROGRAM), "lift", "run", str(self.file), "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            assert run.stdout is not None
            if any(is_reached(json.loads(line)) for line in run.stdout) and (kill is None or not kill()):
                run.kill()
            run.communicate(timeout=200)

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
        pid_file = self.file.parent / "lift-controller" / "pid"
        if not pid_file.exists():
            return
        pid = pid_file.read_text().strip()
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
    clusters: Clusters,
    tmp_path: Path,
    roles: Mapping[int, tuple[str, ...]],
    *,
    dynamic: bool = True,
    hooks: Sequence[str] = (),
    commands: Mapping[str, str] = NO_COMMANDS,
    older: str = "3.9.1",
    security: ControllerSecurity | None = None,
    made: KafkaCluster | None = None,
    **fields: object,
) -> Iterator[Lifted]:
    """A running cluster with clients that produce and consume; at the end they have lost nothing.

    `hooks`: those that stop and start the nodes; `commands`: of other hooks; `older`: what they roll to.
    With `security` the lift meets the brokers at their SCRAM listener.
    `made`: a cluster that runs already; `fields`: more of the file.
    """
    if made is None:
        made = clusters.new("4.3.1", roles, dynamic=dynamic, settings=None if security is None else security.of_nodes)
        made.format(scram=[] if security is None else [SCRAM_USER])
        made.start()
    cluster = made
    [port] = free_ports(1)
    place: dict[str, Any] = {"node_id": EXTRA, "listener": f"127.0.0.1:{port}", "directory": "lift-controller"}
    place["properties"] = {key: DEFAULT_SETTINGS[key] for key in ("authorizer.class.name", "super.users")}
    document: dict[str, Any] = {
        "bootstrap_servers": cluster.bootstrap_servers.split(","),
        "target": "3.9",
        "place": place,
        **fields,
    }
    if security is not None:
        place["properties"] = security.of_extra
        document["bootstrap_servers"] = cluster.scram_servers.split(",")
        for key, properties in security.of_connections.items():
            document[key] = f"{key}.properties"
            text = "".join(f"{name}={value}\n" for name, value in properties.items())
            (tmp_path / document[key]).write_text(text)
    brokers = sum(BROKER in each for each in roles.values())
    try:
        with (
            NodeHooks(cluster, older=older) as node_hooks,
            client_loads(LIBRARIES, cluster.bootstrap_servers, tmp_path, replication_factor=brokers) as loads,
        ):
            file = tmp_path / "lift.yaml"
            file.write_text(yaml.safe_dump(document | {"hooks": {**node_hooks.commands(*hooks), **commands}}))
            yield Lifted(cluster, file, loads, node_hooks)
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
