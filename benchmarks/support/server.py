"""Nodes as processes, real Kafka's and ours, formatted and configured alike, on free ports of this host."""

import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

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
)
STARTED = re.compile(rb"Kafka Server started")
START_TIMEOUT_S = 120
STOP_TIMEOUT_S = 60


@dataclass(frozen=True)
class Program:
    """How the nodes of one side are formatted and run; `options` go behind each command."""

    storage: tuple[str, ...]
    serve: tuple[str, ...]
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Server:
    """A node that serves: its process, and where it listens as a controller and, if it is one, as a broker."""

    node_id: int
    pid: int
    controller_port: int
    broker_port: int


@contextmanager
def kafka_servers(kafka: Peer, folder: Path, count: int, *, roles: str) -> Iterator[list[Server]]:
    """Run a cluster of real nodes with these roles until the block ends."""
    java = (kafka.java, *SERVER_JVM_OPTIONS, "-cp", kafka.class_path)
    with _servers(Program((*java, "kafka.tools.StorageTool"), (*java, "kafka.Kafka")), folder, count, roles) as servers:
        yield servers


@contextmanager
def falkirk_servers(folder: Path, count: int, *, roles: str = "controller") -> Iterator[list[Server]]:
    """Run a cluster of our nodes with these roles, as the same release, until the block ends."""
    program = Program((str(PROGRAM), "storage"), (str(PROGRAM), "serve"), ("--release", RELEASE))
    with _servers(program, folder, count, roles) as servers:
        yield servers


def free_ports(count: int) -> list[int]:
    """Give ports that nothing listens on at the moment."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


@contextmanager
def _servers(program: Program, folder: Path, count: int, roles: str) -> Iterator[list[Server]]:
    ports = free_ports(2 * count)
    controllers, brokers = ports[:count], ports[count:]
    started: list[tuple[subprocess.Popen[bytes], Path]] = []
    try:
        for index in range(count):
            home = folder / f"node-{index + 1}"
            home.mkdir(parents=True)
            config = home / "server.properties"
            config.write_text(_properties(index, roles, controllers, brokers[index], home / "log"))
            command = [*program.storage, "format", "--cluster-id", CLUSTER_ID, "--config", str(config)]
            command += program.options
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            log = home / "server.log"
            with log.open("wb") as output:
                command = [*program.serve, str(config), *program.options]
                process = subprocess.Popen(command, stdout=output, stderr=output)
            started.append((process, log))
        for process, log in started:
            _wait_started(process, log)
        yield [
            Server(index + 1, process.pid, controllers[index], brokers[index])
            for index, (process, _) in enumerate(started)
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


def _properties(index: int, roles: str, controllers: Sequence[int], broker_port: int, log_dir: Path) -> str:
    listeners = [f"CONTROLLER://127.0.0.1:{controllers[index]}"]
    if "broker" in roles:
        listeners.append(f"PLAINTEXT://127.0.0.1:{broker_port}")
    values = {
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
    }
    return "".join(f"{key}={value}\n" for key, value in values.items())


def _wait_started(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not STARTED.search(log.read_bytes()):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{process.args} did not start:\n{log.read_text(errors='replace')[-4000:]}")
        time.sleep(0.05)
