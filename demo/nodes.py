"""Nodes, each a process, in the directories that `falkirk storage format` made; those here run `falkirk serve`."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

HOST = "127.0.0.1"
FALKIRK = Path(sys.executable).with_name("falkirk")
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STOP_TIMEOUT_S = 60


class NodeError(Exception):
    """A node did not do what it was asked to."""


class Node:
    """A combined node with two disks. Paths are relative to the folder of the cluster."""

    # What the process ends with when it is asked to.
    stopped_status = 0

    def __init__(self, folder: Path, node_id: int, broker_port: int, controller_port: int) -> None:
        self.node_id = node_id
        self.broker_address = f"{HOST}:{broker_port}"
        self.controller_address = f"{HOST}:{controller_port}"
        self.home = f"node-{node_id}"
        self.properties = f"{self.home}/server.properties"
        self.disks = (f"{self.home}/disk-a", f"{self.home}/disk-b")
        self._folder = folder
        self._log = folder / self.home / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._is_leaving = False

    def quorum_property(self, nodes: Sequence["Node"]) -> str:
        """Return the property that tells where the controllers are."""
        return "controller.quorum.voters=" + ",".join(f"{node.node_id}@{node.controller_address}" for node in nodes)

    def write_properties(self, nodes: Sequence["Node"]) -> None:
        """Write the properties as an operator would."""
        (self._folder / self.home).mkdir()
        lines = (
            "process.roles=broker,controller",
            f"node.id={self.node_id}",
            f"listeners=PLAINTEXT://{self.broker_address},CONTROLLER://{self.controller_address}",
            "controller.listener.names=CONTROLLER",
            self.quorum_property(nodes),
            f"log.dirs={','.join(self.disks)}",
            "min.insync.replicas=2",
            "offsets.topic.num.partitions=4",
            "group.initial.rebalance.delay.ms=0",
        )
        (self._folder / self.properties).write_text("\n".join(lines) + "\n")

    def command(self, release: str) -> list[str]:
        """Return the command that starts it as a release."""
        return [str(FALKIRK), "serve", self.properties, "--release", release]

    def shown_command(self, release: str) -> list[str]:
        """Return the command as an operator types it."""
        return ["falkirk", *self.command(release)[1:]]

    def start(self, release: str) -> None:
        """Start it in the demo's process group, so that what ends the terminal ends it too."""
        self._is_leaving = False
        with self._log.open("ab") as log, uninterrupted():
            self._process = subprocess.Popen(
                self.command(release),
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def check(self) -> None:
        """Raise NodeError, with the last line of its log, if it has ended unasked."""
        if self._process is not None and not self._is_leaving and self.has_ended():
            raise NodeError(self._last_words(self._process.returncode))

    def request_stop(self) -> None:
        """Ask it to shut down cleanly."""
        assert self._process is not None
        self._is_leaving = True
        self._process.terminate()

    def has_ended(self) -> bool:
        """Return whether the process has ended."""
        assert self._process is not None
        return self._process.poll() is not None

    def await_end(self) -> None:
        """Wait until it has ended. Raises NodeError if it does not, or not cleanly."""
        assert self._process is not None
        try:
            status = self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise NodeError(f"node {self.node_id} did not stop within {_STOP_TIMEOUT_S} s") from error
        if status != self.stopped_status:
            raise NodeError(self._last_words(status))
        self._process = None

    def kill(self) -> None:
        """Kill the process, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _last_words(self, status: int) -> str:
        lines = self._log.read_text(errors="replace").splitlines() or ["nothing"]
        return f"node {self.node_id} has ended with status {status}; the last line of its log: {lines[-1]}"


class Nodes:
    """The cluster. A `with` block: at its end, however it comes, no node runs."""

    def __init__(self, folder: Path, count: int, kind: type[Node] = Node) -> None:
        ports = iter(free_ports(2 * count))
        self.nodes = [kind(folder, node_id, next(ports), next(ports)) for node_id in range(1, count + 1)]
        self.bootstrap_servers = ",".join(node.broker_address for node in self.nodes)
        for node in self.nodes:
            node.write_properties(self.nodes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in self.nodes:
            node.kill()

    def check(self) -> None:
        """Raise NodeError if one has ended unasked."""
        for node in self.nodes:
            node.check()

    def stop(self) -> None:
        """Stop all together. Raises NodeError."""
        for node in self.nodes:
            node.request_stop()
        for node in self.nodes:
            node.await_end()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Defer signals that end the demo: a node between its start and our knowing of it would outlive us."""
    came: list[int] = []
    handlers = {each: signal.signal(each, lambda number, _frame: came.append(number)) for each in ENDING_SIGNALS}
    try:
        yield
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)
        if came:
            signal.raise_signal(came[0])


def free_ports(count: int) -> list[int]:
    """Return ports that were free a moment ago."""
    with ExitStack() as sockets:
        made = [sockets.enter_context(socket.socket()) for _ in range(count)]
        for each in made:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in made]
