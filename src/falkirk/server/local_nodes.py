"""Starting the nodes of a local cluster: each as a process that runs `falkirk serve`, or all in this one."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from falkirk.node.effects import Stop
from falkirk.server.cluster_layout import PROPERTIES, node_home, node_properties
from falkirk.server.fact_log import FactLog, LogFormat, LogLevel
from falkirk.server.serve import opened
from falkirk.server.serve_program import last_line, serve_command

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path
    from types import TracebackType

    from falkirk.node.config.node_config import NodeConfig
    from falkirk.server.cluster_layout import ClusterLayout, NodeLayout
    from falkirk.server.node_driver import NodeDriver
    from falkirk.server.opened_node import OpenedNode
    from falkirk.server.serve import MakeNode

LOG_FILE: Final = "server.log"


class NodeProcesses:
    """Each node is a process, whose log goes to a file in its directory."""

    def __init__(self, directory: Path, layout: ClusterLayout) -> None:
        self._directory = directory
        self._layout = layout

    async def start(self, node: NodeLayout) -> NodeProcess:
        """Start one. Raises OSError."""
        home = node_home(self._directory, node)
        with (home / LOG_FILE).open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *serve_command(home / PROPERTIES, self._layout.release),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=log,
                # A group of its own: on Ctrl-C the parent stops the nodes in order.
                start_new_session=True,
            )
        return NodeProcess(process, home / LOG_FILE)


class NodeProcess:
    """A node in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log
        self.ended = asyncio.create_task(self._wait())

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def request_shutdown(self) -> None:
        """Send the signal that shuts `falkirk serve` down."""
        if self._process.returncode is None:
            self._process.terminate()

    def end_now(self) -> None:
        """Kill it."""
        if self._process.returncode is None:
            self._process.kill()

    async def _wait(self) -> Stop:
        status = await self._process.wait()
        how = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
        return Stop(status, None if status == 0 else f"{how}; the last line of {self._log}: {last_line(self._log)}")


class OpenNode(Protocol):
    """Opens a node of a layout, which logs to `log`. Raises ServerError and ConfigError."""

    def __call__(self, node: NodeLayout, log: FactLog) -> AbstractContextManager[OpenedNode[Any]]:  # Any: see NodeTask
        """Open the node."""
        ...


class NodesInProcess:
    """All nodes on the loop of this process. An `async with` block, which releases sockets and locks at its end."""

    def __init__(self, directory: Path, open_node: OpenNode) -> None:
        self._directory = directory
        self._open_node = open_node
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._opened.aclose()

    async def start(self, node: NodeLayout) -> NodeTask:
        """Start one. Raises ServerError and ConfigError."""
        home = node_home(self._directory, node)
        log = FactLog(
            self._opened.enter_context((home / LOG_FILE).open("a", encoding="utf-8", buffering=1)),
            LogFormat.TEXT,
            LogLevel.INFO,
        )
        return NodeTask(self._opened.enter_context(self._open_node(node, log)))


class NodeTask:
    """A node that shares this process with others."""

    def __init__(self, node: OpenedNode[Any]) -> None:  # Any: its own configuration
        self._driver: NodeDriver | None = None
        self.ended = asyncio.create_task(node.run(_nothing, self._receive_driver))

    def request_shutdown(self) -> None:
        """Ask it to stop."""
        if self._driver is not None:
            self._driver.request_shutdown()

    def end_now(self) -> None:
        """End it as it is."""
        if self._driver is not None:
            self._driver.stop(Stop(1, "ended at once"))

    def _receive_driver(self, driver: NodeDriver) -> None:
        self._driver = driver


def open_kraft_node(
    directory: Path, layout: ClusterLayout, make_node: MakeNode, node: NodeLayout, log: FactLog
) -> AbstractContextManager[OpenedNode[NodeConfig]]:
    """Open a node with its written configuration. Raises ServerError and ConfigError."""
    return opened(node_properties(directory, layout, node), make_node, log)


def _nothing(_config: object) -> None:
    pass
