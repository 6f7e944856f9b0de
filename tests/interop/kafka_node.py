"""One real Kafka node: its server.properties, its storage, its process."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafka_java import ClassSharing, jvm_command, run_main

BROKER = "broker"
CONTROLLER = "controller"
STARTED_LINE = "Kafka Server started"
_POLL_S = 0.03


class KafkaNodeError(Exception):
    """A node did not start or stop; the message ends with the tail of its log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLayout:
    """Identity, ports and directories of a node. The port of a role that it does not have is unused."""

    node_id: int
    roles: tuple[str, ...] = (BROKER, CONTROLLER)
    log_dirs: tuple[Path, ...]
    broker_port: int
    scram_port: int
    controller_port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quorum:
    """How nodes find the controllers: `dynamic` by bootstrap servers (kraft.version 1), else by a static voter list."""

    dynamic: bool
    controllers: tuple[NodeLayout, ...]

    def property(self) -> tuple[str, str]:
        """Its line of server.properties."""
        if self.dynamic:
            servers = ",".join(f"127.0.0.1:{node.controller_port}" for node in self.controllers)
            return "controller.quorum.bootstrap.servers", servers
        voters = ",".join(f"{node.node_id}@127.0.0.1:{node.controller_port}" for node in self.controllers)
        return "controller.quorum.voters", voters


def server_properties(layout: NodeLayout, quorum: Quorum, settings: Mapping[str, str]) -> dict[str, str]:
    """The whole configuration of a node; `settings` override what is derived from the layout.

    Brokers have two listeners: plain text, where every client is a super user if `settings` say so, and SASL/SCRAM.
    """
    listeners = []
    if BROKER in layout.roles:
        listeners += [f"PLAINTEXT://127.0.0.1:{layout.broker_port}", f"SCRAM://127.0.0.1:{layout.scram_port}"]
    if CONTROLLER in layout.roles:
        listeners.append(f"CONTROLLER://127.0.0.1:{layout.controller_port}")
    properties = {
        "process.roles": ",".join(layout.roles),
        "node.id": str(layout.node_id),
        "listeners": ",".join(listeners),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SCRAM:SASL_PLAINTEXT",
        "log.dirs": ",".join(str(path) for path in layout.log_dirs),
    }
    key, value = quorum.property()
    properties[key] = value
    if BROKER in layout.roles:
        properties["sasl.enabled.mechanisms"] = "SCRAM-SHA-256,SCRAM-SHA-512"
        for mechanism in ("scram-sha-256", "scram-sha-512"):
            login = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            properties[f"listener.name.scram.{mechanism}.sasl.jaas.config"] = login
    return properties | dict(settings)


class KafkaNode:
    """A node on its log dirs, which may be new (`format` them) or come from elsewhere.

    `home` has server.properties and one log file for each start. Nothing else is written outside the log dirs.
    """

    started_line = STARTED_LINE

    def __init__(
        self, release: str, layout: NodeLayout, quorum: Quorum, *, home: Path, settings: Mapping[str, str]
    ) -> None:
        self.release = release
        self.layout = layout
        self.home = home
        self.settings = dict(settings)
        self.quorum = quorum
        self._process: subprocess.Popen[bytes] | None = None
        self._sharing: ClassSharing | None = None
        self._starts = 0

    @property
    def properties_file(self) -> Path:
        """The server.properties; written by `format` and `start`."""
        return self.home / "server.properties"

    @property
    def log_file(self) -> Path:
        """The log of the last start."""
        return self.home / f"server-{self._starts}.log"

    @property
    def pid(self) -> int | None:
        """Process id while the node runs."""
        running = self._process is not None and self._process.poll() is None
        return self._process.pid if running and self._process else None

    def format(self, cluster_id: str, *arguments: str) -> None:
        """Format the log dirs with StorageTool of the release; `arguments` are further options."""
        self.write_properties()
        options = ["format", "--cluster-id", cluster_id, "--config", str(self.properties_file), *arguments]
        run_main(self.release, "kafka.tools.StorageTool", options)

    def write_properties(self) -> None:
        """Write server.properties, and create missing log dirs."""
        self.home.mkdir(parents=True, exist_ok=True)
        for path in self.layout.log_dirs:
            path.mkdir(parents=True, exist_ok=True)
        properties = server_properties(self.layout, self.quorum, self.settings)
        self.properties_file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))

    def start(self) -> None:
        """Start the process; `wait_started` waits until it serves."""
        if self.pid is not None:
            raise KafkaNodeError(f"node {self.layout.node_id} runs already as process {self.pid}")
        self.write_properties()
        self._starts += 1
        command = self._command()
        with self.log_file.open("wb") as log:
            self._process = subprocess.Popen(
                [*dies_with_parent(), *command], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )

    def wait_started(self, timeout_s: float = 60) -> None:
        """Return when the node serves; raises KafkaNodeError if it ends or is late."""
        deadline = time.monotonic() + timeout_s
        while self.started_line not in self.log_text():
            # Asked before the log is read once more: what an ended process wrote is all there.
            ended = self.pid is None
            if ended and self.started_line not in self.log_text():
                raise KafkaNodeError(f"{self} ended while starting, {self._status()}; its log:\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise KafkaNodeError(f"{self} did not start within {timeout_s:.0f} s; its log:\n{self.log_tail()}")
            time.sleep(_POLL_S)

    def run_as(self, release: str, *, without: Iterable[str] = ()) -> None:
        """Stop, and start as another release, without these files of its log directories; wait until it serves."""
        self.stop()
        for name in without:
            for path in self.layout.log_dirs:
                (path / name).unlink(missing_ok=True)
        self.release = release
        self.start()
        self.wait_started()

    def terminate(self) -> None:
        """Ask the process to stop (SIGTERM), without waiting."""
        if self._process is not None and self.pid is not None:
            self._process.send_signal(signal.SIGTERM)

    def wait_stopped(self, timeout_s: float = 60) -> None:
        """Wait for the end of a process that was asked to stop.

        After `timeout_s` it is killed, and KafkaNodeError raised.
        """
        if self._process is None:
            return
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            self.kill()
            raise KafkaNodeError(
                f"{self} did not stop within {timeout_s:.0f} s and was killed; its log:\n{self.log_tail()}"
            ) from error
        if self._sharing is not None:
            self._sharing.keep()
        self._close_sharing()

    def stop(self, timeout_s: float = 60) -> None:
        """Stop cleanly (SIGTERM) and wait for the end."""
        self.terminate()
        self.wait_stopped(timeout_s)

    def kill(self) -> None:
        """Kill the process (SIGKILL): no flush, no clean-shutdown file, no controlled shutdown."""
        if self._process is None:
            return
        if self.pid is not None:
            os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._close_sharing()

    def log_text(self) -> str:
        """The log of the last start so far."""
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def log_tail(self, lines: int = 40) -> str:
        """The last lines of the log, preceded by every line about an error."""
        text = self.log_text().splitlines()
        errors = [line for line in text[:-lines] if " ERROR " in line or " FATAL " in line]
        return "\n".join(errors[-10:] + text[-lines:])

    def __str__(self) -> str:
        return f"Kafka {self.release} node {self.layout.node_id} ({self.log_file})"

    def _command(self) -> list[str]:
        """The command line that runs the node."""
        self._sharing = ClassSharing(self.release, "kafka.Kafka")
        return jvm_command(self.release, "kafka.Kafka", [str(self.properties_file)], options=self._sharing.options)

    def _status(self) -> str:
        return f"exit status {self._process.returncode}" if self._process else "never started"

    def _close_sharing(self) -> None:
        if self._sharing is not None:
            self._sharing.close()
            self._sharing = None


def dies_with_parent() -> Sequence[str]:
    """A prefix that lets the kernel end the node when its parent process is gone (Linux, util-linux)."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []
