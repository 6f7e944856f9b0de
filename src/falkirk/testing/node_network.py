"""The connections among the nodes of a test cluster: one event loop for all of them, on which links can be cut."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# The node whose task runs; tasks that it starts inherit it.
RUNNING_NODE: Final[ContextVar[int | None]] = ContextVar("RUNNING_NODE", default=None)


@contextmanager
def running_node(node_id: int) -> Iterator[None]:
    """Run a block as a node: what it starts belongs to that node."""
    token = RUNNING_NODE.set(node_id)
    try:
        yield
    finally:
        RUNNING_NODE.reset(token)


class NodeNetwork:
    """Knows which node listens where, who is connected to whom, and which links are cut."""

    def __init__(self) -> None:
        self._node_of_port: dict[int, int] = {}
        self._cut: set[frozenset[int]] = set()
        # With the context of the node that opened it, in which it has to end: the node may connect anew at once.
        self._open: dict[frozenset[int], list[tuple[Context, asyncio.Transport]]] = {}

    def add_node(self, node_id: int, ports: Iterable[int]) -> None:
        """Note where a node listens."""
        self._node_of_port |= dict.fromkeys(ports, node_id)

    def cut(self, side: Iterable[int], other_side: Iterable[int]) -> None:
        """Break all connections between the nodes of two sides, and let none be made. Clients are not concerned."""
        others = tuple(other_side)
        for link in {frozenset((node, other)) for node in side for other in others if node != other}:
            self._cut.add(link)
            for context, transport in self._open.pop(link, ()):
                context.run(transport.abort)

    def heal(self) -> None:
        """Let connections be made again."""
        self._cut.clear()

    def link(self, port: int) -> frozenset[int] | None:
        """Return the link of the running node with the node at a port; None if one of them is no node."""
        node, other = RUNNING_NODE.get(), self._node_of_port.get(port)
        return None if node is None or other is None else frozenset((node, other))

    def is_cut(self, link: frozenset[int]) -> bool:
        """Return whether the nodes cannot reach each other."""
        return link in self._cut

    def opened(self, link: frozenset[int], transport: asyncio.Transport) -> None:
        """Note a connection between two nodes."""
        still_open = [each for each in self._open.get(link, ()) if not each[1].is_closing()]
        self._open[link] = [*still_open, (copy_context(), transport)]


class NodeLoop(asyncio.SelectorEventLoop):
    """The event loop of all nodes; connections that they open go by the network's rules."""

    def __init__(self, network: NodeNetwork) -> None:
        super().__init__()
        self._network = network

    async def create_connection(  # type: ignore[override]  # nodes call it with these arguments only
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str,
        port: int,
        **options: Any,  # Any: asyncio's own
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """Open a connection. Raises ConnectionRefusedError where the link is cut."""
        link = self._network.link(port)
        if link is not None and self._network.is_cut(link):
            raise ConnectionRefusedError(f"the link {sorted(link)} is cut")
        transport, protocol = await super().create_connection(protocol_factory, host, port, **options)
        if link is not None:
            self._network.opened(link, transport)
        return transport, protocol
