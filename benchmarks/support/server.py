"""Nodes as processes, real Kafka's and ours, formatted and configured alike, on free ports of this host."""

import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from falkirk.storage.partition_directory import METADATA_DIRECTORY
from support.kafka_peer import RELEASE, Peer

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
PROGRAM = Path(sys.executable).with_name("falkirk")
# As kafka-server-start.sh and kafka-run-class.sh set them.
SERVER_JVM_OPTIONS = (
    "-server",
    "-Xmx1G",
    "-Xms1G",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    # A line for each change that a controller replays is what Kafka logs by default; that is not what is measured.
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
    "-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info",
    # Tells how long a partition's load took, and little else.
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime=info",
    "-Dorg.slf4j.simpleLogger.log.kafka.coordinator.transaction.TransactionStateManager=info",
)
STARTED = re.compile(rb"Kafka Server started")
START_TIMEOUT_S = 120
STOP_TIMEOUT_S = 60
NO_PROPERTIES: Mapping[str, object] = {}


@dataclass(frozen=True)
class Program:
    """How nodes of one side are formatted and run; `options` are added to each command, `properties` to the file."""

    storage: tuple[str, ...]
    serve: tuple[str, ...]
    options: tuple[str, ...] = ()
    properties: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Server:
    """A node that serves: its process, and its endpoints as a controller and, if it is one, as a broker.

    `home` has its `server.log`, and its data in `log`.
    """

    node_id: int
    pid: int
    controller_port: int
    broker_port: int
    home: Path


@contextmanager
def kafka_servers(
    kafka: Peer,
    folder: Path,
    count: int,
    *,
    roles: str,
    properties: Mapping[str, object] = NO_PROPERTIES,
    snapshot: Path | None = None,
    jvm_options: Sequence[str] = (),
) -> Iterator[list[Server]]:
    """Run a cluster of real nodes with these roles during the block; an existing folder is continued.

    `snapshot`: of the metadata that a new cluster begins with. `jvm_options`: besides those of Kafka's start script.
    """
    java = (kafka.java, *SERVER_JVM_OPTIONS, *jvm_options, "-cp", kafka.class_path)
    program = Program((*java, "kafka.tools.StorageTool"), (*java, "kafka.Kafka"), properties=properties)
    with _servers(program, folder, count, roles, snapshot) as servers:
        yield servers


@contextmanager
def falkirk_servers(
    folder: Path,
    count: int,
    *,
    roles: str = "controller",
    properties: Mapping[str, object] = NO_PROPERTIES,
    snapshot: Path | None = None,
) -> Iterator[list[Server]]:
    """Run a cluster of our nodes with these roles, as the same release, during the block; `snapshot` as above."""
    program = Program((str(PROGRAM), "storage"), (str(PROGRAM), "serve"), ("--release", RELEASE), properties)
    with _servers(program, folder, count, roles, snapshot) as servers:
        yield servers


def free_ports(count: int) -> list[int]:
    """Return ports that nothing listens on at the moment."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


@contextmanager
def _servers(program: Program, folder: Path, count: int, roles: str, snapshot: Path | None) -> Iterator[list[Server]]:
    ports = free_ports(2 * count)
    controllers, brokers = ports[:count], ports[count:]
    started: list[tuple[subprocess.Popen[bytes], Path]] = []
    try:
        for index in range(count):
            home = folder / f"node-{index + 1}"
            home.mkdir(parents=True, exist_ok=True)
            config = home / "server.properties"
            own = _properties(index, roles, controllers, brokers[index], home / "log")
            config.write_text(_text(own | program.properties))
            command = [*program.storage, "format", "--cluster-id", CLUSTER_ID, "--config", str(config)]
            command += ["--ignore-formatted", *program.options]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if snapshot is not None:
                partition = home / "log" / METADATA_DIRECTORY
                partition.mkdir(exist_ok=True)
                shutil.copy(snapshot, partition)
            log = home / "server.log"
            with log.open("wb") as output:
                command = [*program.serve, str(config), *program.options]
                process = subprocess.Popen(command, stdout=output, stderr=output)
            started.append((process, log))
        for process, log in started:
            _wait_started(process, log)
        yield [
            Server(index + 1, process.pid, controllers[index], brokers[index], log.parent)
            for index, (process, log) in enumerate(started)
        ]
    finally:
        for process, _ in started:
            process.terminate()
        for process, _ in started:
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _properties(
    index: int, roles: str, controllers: Sequence[int], broker_port: int, log_dir: Path
) -> dict[str, object]:
    listeners = [f"CONTROLLER://127.0.0.1:{controllers[index]}"]
    if "broker" in roles:
        listeners.append(f"PLAINTEXT://127.0.0.1:{broker_port}")
    return {
        "process.roles": roles,
        "node.id": index + 1,
        "listeners": ",".join(listeners),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "controller.quorum.voters": ",".join(f"{at}@127.0.0.1:{port}" for at, port in enumerate(controllers, 1)),
        "log.dirs": log_dir,
        # Kafka's default lets every append wait 25 ms for company.
        "controller.quorum.append.linger.ms": 0,
        # Registered brokers send no heartbeats while they are of no use but to be there.
        "broker.session.timeout.ms": 3_600_000,
        "offsets.topic.replication.factor": 1,
    }


def _text(values: Mapping[str, object]) -> str:
    return "".join(f"{key}={value}\n" for key, value in values.items())


def _wait_started(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not STARTED.search(log.read_bytes()):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{process.args} did not start:\n{log.read_text(errors='replace')[-4000:]}")
        time.sleep(0.05)
