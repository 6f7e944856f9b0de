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
from mixed_cluster import BOOTSTRAP
from node_hooks import NodeHooks
from operator_load import PROTOCOLS, OperatorLoad, operator_load
from topic_state import await_in_sync

EXTRA = 9001
CONTROLLER_HOME = "lift-controller"
STATE = "lift-state"
NO_COMMANDS: Mapping[str, str] = {}
LIBRARIES = ("librdkafka", "java-4.3.1")
# What the load has in use: a lift refuses what is not named.
LOSSES = ("consumer_group", "open_transaction")
# A member whose protocol is refused is gone after a session.
SESSIONS = {
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.heartbeat.interval.ms": "1000",
}


class Lifted:
    """A cluster of real Kafka 4.3.1, under load, and the file of its lift."""

    def __init__(
        self,
        cluster: KafkaCluster,
        document: Mapping[str, Any],  # Any: YAML values
        folder: Path,
        *,
        loads: ClientLoads,
        load: OperatorLoad,
        hooks: NodeHooks,
    ) -> None:
        self.cluster = cluster
        self.hooks = hooks
        self.file = folder / "lift.yaml"
        self.loads = loads
        self.load = load
        self._document = dict(document)
        self.change_file()

    def change_file(self, **fields: object) -> None:
        """Write the lift's file with other fields."""
        self._document |= fields
        self.file.write_text(yaml.safe_dump(self._document))

    def prepare_next(self, number: int) -> None:
        """Write the file of one more lift of the cluster, of the same kind."""
        place = self._document["place"]
        if not isinstance(place, str):
            place = place | {"directory": f"{CONTROLLER_HOME}-{number}"}
        self.change_file(place=place, state=f"{STATE}-{number}")

    @property
    def place(self) -> Path:
        """The directory of falkirk's controller."""
        place = self._document["place"]
        return self.file.parent / (CONTROLLER_HOME if isinstance(place, str) else place["directory"])

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

    def roll(self, releases: Mapping[int, str]) -> None:
        """Restart node by node as another release, by node id, each when all partitions are in sync."""
        for node_id, release in releases.items():
            self.cluster.nodes[node_id].run_as(release, without=[BOOTSTRAP])
            self.await_in_sync()

    def await_in_sync(self) -> None:
        """Wait until each broker knows all of them, and every replica is in sync."""
        brokers = {layout.node_id: layout.broker_port for layout in self.cluster.layouts if BROKER in layout.roles}
        await_in_sync(brokers.values(), brokers)

    def check_voters(self) -> None:
        """The voters are those of before, and falkirk's controller runs no more."""
        status = self.status()
        voters = [voter["node_id"] for voter in status["originals"]["voters"]]
        assert status["quorum"]["voters"] == voters
        assert status["quorum"]["leader_id"] in voters
        pid_file = self.place / "pid"
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
    settings: Mapping[str, str] = SESSIONS,
    made: KafkaCluster | None = None,
    protocols: Sequence[str] = PROTOCOLS,
    **fields: object,
) -> Iterator[Lifted]:
    """A running cluster with the load of an operator's; at the end nothing is lost, and nothing there twice.

    `hooks`: those that stop and start the nodes; `commands`: of other hooks; `older`: what they roll to.
    With `security` the lift meets the brokers at their SCRAM listener.
    `made`: a cluster that runs already; `protocols`: of the consumers; `fields`: more of the file.
    """
    if made is None:
        more = {} if security is None else security.of_nodes
        made = clusters.new("4.3.1", roles, dynamic=dynamic, settings={**settings, **more})
        made.format(scram=[] if security is None else [SCRAM_USER])
        made.start()
    cluster = made
    [port] = free_ports(1)
    place: dict[str, Any] = {"node_id": EXTRA, "listener": f"127.0.0.1:{port}", "directory": CONTROLLER_HOME}
    place["properties"] = {key: DEFAULT_SETTINGS[key] for key in ("authorizer.class.name", "super.users")}
    document: dict[str, Any] = {
        "bootstrap_servers": cluster.bootstrap_servers.split(","),
        "target": "3.9",
        "accept_losses": [*LOSSES],
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
            operator_load(cluster.bootstrap_servers, replication_factor=brokers, protocols=protocols) as load,
        ):
            document["hooks"] = {**node_hooks.commands(*hooks), **commands}
            yield Lifted(cluster, document, tmp_path, loads=loads, load=load, hooks=node_hooks)
            loads.await_rounds(1)
            print(load.check())  # noqa: T201 - pytest shows it with -rP
            loads.check()
            print(loads.counted())  # noqa: T201 - same
    finally:
        kill_controller(tmp_path)


def kill_controller(tmp_path: Path) -> bool:
    """Kill falkirk's controller; False if it does not run."""
    try:
        pid = int((tmp_path / CONTROLLER_HOME / "pid").read_text())
        os.kill(pid, signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        return False
    return True
