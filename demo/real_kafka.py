"""The demo's second part: three nodes of real Kafka 4.3.1 go down to 3.9 while clients work, by `falkirk lift`."""

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import yaml
from rich.markup import escape

from nodes import HOST, Node, free_ports
from stage import BLOCKED, DONE, LeftOutError, Stage, Step

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
from fetch_kafka import FetchError, kafka_libs, required_program

FROM, TO = "4.3.1", "3.9.1"
LEVEL = "3.9"
LIFT = "lift.yaml"
LIFT_STATE = "lift-state"
EXTRA = 9001
CLUSTER = "kafka"
# They live for seconds on few cores.
_JVM_OPTIONS = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class KafkaNode(Node):
    """A node of real Kafka, with dynamic voters."""

    # Of a JVM that SIGTERM has ended.
    stopped_status = 143

    def quorum_property(self, nodes: Sequence[Node]) -> str:
        """Return the property that tells where the controllers are."""
        return "controller.quorum.bootstrap.servers=" + ",".join(node.controller_address for node in nodes)

    def command(self, release: str) -> list[str]:
        """Return the command that starts it as a release."""
        jars = os.pathsep.join(str(jar) for jar in sorted(kafka_libs(release).glob("*.jar")))
        return [required_program("java", "real Kafka"), *_JVM_OPTIONS, "-cp", jars, "kafka.Kafka", self.properties]

    def shown_command(self, release: str) -> list[str]:
        """Return the command as an operator types it."""
        return [f"kafka-{release}/bin/kafka-server-start.sh", self.properties]


def start(stage: Stage) -> None:
    try:
        required_program("java", "real Kafka")
        with stage.console.status("Maven fetches the jars of Kafka, once ..."):
            for release in (FROM, TO):
                kafka_libs(release)
    except FetchError as error:
        raise LeftOutError(f"no real Kafka here. {error}") from error
    nodes = stage.cluster.nodes
    cluster_id, *directory_ids = (
        stage.falkirk_quietly("storage", "random-uuid").strip() for _ in range(len(nodes) + 1)
    )
    voters = ",".join(
        f"{node.node_id}@{node.controller_address}:{directory_id}"
        for node, directory_id in zip(nodes, directory_ids, strict=True)
    )
    for node in nodes:
        options = ("--config", node.properties, "--cluster-id", cluster_id, "--release", FROM)
        stage.falkirk_quietly("storage", "format", *options, "--initial-controllers", voters)
    for node in nodes:
        stage.start_node(node, FROM)
    stage.await_in_sync()
    if stage.watch is not None:
        state = str((stage.folder / LIFT_STATE).relative_to(stage.folder.parent))
        stage.watch.follow(CLUSTER, stage.cluster.bootstrap_servers, lift=state)
        stage.say("The watch that runs reads its file again, and follows this cluster, too.")


def refused(stage: Stage) -> None:
    stage.features("downgrade", "--metadata", LEVEL, status=BLOCKED)
    stage.say("\nKafka looks at its table, not at the data.")


def check(stage: Stage) -> None:
    stage.falkirk("lift", "check", "--bootstrap-server", stage.cluster.bootstrap_servers, "--to", LEVEL, status=DONE)
    stage.say("\nNothing was changed, and nothing has joined: this reads as a consumer does.")


def lift(stage: Stage) -> None:
    [port] = free_ports(1)
    document = {
        "bootstrap_servers": stage.cluster.bootstrap_servers.split(","),
        "target": LEVEL,
        "place": {"node_id": EXTRA, "listener": f"{HOST}:{port}", "directory": "lift-controller"},
    }
    text = yaml.safe_dump(document, sort_keys=False)
    (stage.folder / LIFT).write_text(text)
    stage.say(f"[dim]$ cat {LIFT}[/]\n{escape(text)}")
    stage.at_end(lambda: kill_controller(stage.folder / "lift-controller" / "pid"))
    stage.falkirk("lift", "run", LIFT, status=DONE)
    stage.await_clients()


def kill_controller(pid_file: Path) -> None:
    """Kill falkirk's controller, which outlives an interrupted `lift run`."""
    with suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int(pid_file.read_text()), signal.SIGKILL)


def roll(stage: Stage) -> None:
    for node in stage.cluster.nodes:
        stage.await_in_sync()
        stage.stop_node(node)
        stage.falkirk("lift", "prepare", node.properties, "--release", LEVEL, "--in-place", status=DONE)
        stage.start_node(node, TO)
        stage.await_in_sync()
        stage.await_clients()
    stage.features("describe", status=DONE)


STEPS = (
    Step("Three nodes of real Kafka 4.3.1", start),
    Step("Real clients at work on it", Stage.start_clients),
    Step("Kafka itself does not go back", refused),
    Step("Could it?", check),
    Step("A controller of falkirk leads for seconds, and lowers the level", lift),
    Step("Kafka 3.9.1 takes over, node by node", roll),
    Step("Is everything there, again?", Stage.count_records),
)
