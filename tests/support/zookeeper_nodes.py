"""Brokers on a ZooKeeper of values, in one process: bytes and znodes arrive at once, and time stands still.

nodes = ZooKeeperNodes()
nodes.start(1, {"group_coordinator": SupportedRange(1, 2)})
answer = nodes.ask(1, UpdateFeaturesRequest(...), 1)
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from falkirk.node.effects import Close, Connect, Fact, Send, Started, Stop
from falkirk.node.events import BytesReceived, ConnectionAccepted
from falkirk.node.zookeeper.node import ZooKeeperNode
from falkirk.node.zookeeper.properties import read_zookeeper_properties
from falkirk.protocol.connection import Connection, ResponseReceived, Role
from falkirk.simulation.zookeeper.client import EnsembleClient
from falkirk.simulation.zookeeper.ensemble import Ensemble
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.zookeeper.finalized_features import Supported
    from falkirk.node.effects import Effect
    from falkirk.node.events import Event
    from falkirk.node.zookeeper.exchange import ZooKeeperEffect, ZooKeeperEvent
    from falkirk.protocol.schema import WireMessage

START_MS = 1_700_000_000_000


@dataclass(eq=False)
class RunningNode:
    """One process: what it is about to be told, what it has told, and how it ended, if it did."""

    node: ZooKeeperNode
    inbox: deque[Event | ZooKeeperEvent] = field(default_factory=deque)
    facts: list[Fact] = field(default_factory=list)
    stop: Stop | None = None
    is_started: bool = False
    sent: dict[int, bytes] = field(default_factory=dict)
    next_connection_id: int = 0

    def told(self, event: str) -> list[Mapping[str, object]]:
        """Give the fields of each fact of an event."""
        return [fact.fields for fact in self.facts if fact.event == event]


class ZooKeeperNodes:
    """All brokers of a cluster, and its ZooKeeper. Whatever is done, they have come to rest when it returns."""

    def __init__(self, ensemble: Ensemble | None = None) -> None:
        self.ensemble = Ensemble() if ensemble is None else ensemble
        self.now_ms = START_MS
        self.running: dict[int, RunningNode] = {}
        self._clients: dict[int, EnsembleClient] = {}

    def start(
        self,
        node_id: int,
        supported: Supported,
        *,
        release: str = "3.9",
        protocol: str | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> RunningNode:
        """Start a broker; `protocol`: its inter.broker.protocol.version, by default the release's own."""
        runs = Release.parse(release)
        given = {
            "broker.id": str(node_id),
            "zookeeper.connect": "zookeeper:2181",
            "listeners": f"PLAINTEXT://broker-{node_id}:9092",
            "inter.broker.protocol.version": protocol or runs.word,
            "falkirk.supported.features": ",".join(f"{name}:{levels}" for name, levels in supported.items()),
            **(properties or {}),
        }
        config = read_zookeeper_properties(given, runs, hostname=f"broker-{node_id}").config
        running = RunningNode(ZooKeeperNode(config, random=Random(node_id), now_ms=self.now_ms))
        self.running[node_id] = running
        self._clients[node_id] = EnsembleClient(self.ensemble, running.inbox.append)
        self._step(node_id)
        self.settle()
        return running

    def stop(self, node_id: int) -> None:
        """End a broker's process; its session is over at once."""
        del self.running[node_id]
        self.ensemble.end_session(self._clients.pop(node_id).session_id)
        self.settle()

    @property
    def controller_id(self) -> int | None:
        """Who is the controller; None: nobody."""
        return next((node_id for node_id, running in self.running.items() if running.node.is_active_controller), None)

    def ask(self, node_id: int, message: WireMessage, version: int) -> Any:
        """Ask a broker on a connection of its own; there must be an answer."""
        running = self.running[node_id]
        connection = Connection(role=Role.CLIENT, client_id="tester")
        connection_id = running.next_connection_id
        running.next_connection_id += 2
        _, data = connection.send_request(message, version)
        running.inbox += (
            ConnectionAccepted(connection_id, "PLAINTEXT", "10.0.0.1"),
            BytesReceived(connection_id, data),
        )
        self.settle()
        (response,) = connection.receive_data(running.sent.pop(connection_id))
        assert isinstance(response, ResponseReceived)
        return response.message()

    def settle(self) -> None:
        """Run until nobody has anything to do without time passing."""
        rounds = 0
        while active := [node_id for node_id in self.running if self._is_active(node_id)]:
            rounds += 1
            assert rounds < 1000, "they never come to rest"
            for node_id in active:
                self._step(node_id)

    def _is_active(self, node_id: int) -> bool:
        running = self.running[node_id]
        wakeup_ms = running.node.next_wakeup_ms
        return running.stop is None and (bool(running.inbox) or (wakeup_ms is not None and wakeup_ms <= self.now_ms))

    def _step(self, node_id: int) -> None:
        running = self.running[node_id]
        events = list(running.inbox)
        running.inbox.clear()
        for effect in running.node.step(events, self.now_ms):
            self._execute(node_id, running, effect)

    def _execute(self, node_id: int, running: RunningNode, effect: Effect | ZooKeeperEffect) -> None:
        match effect:
            case Send(connection_id, data):
                running.sent[connection_id] = running.sent.get(connection_id, b"") + data
            case Fact():
                running.facts.append(effect)
            case Started():
                running.is_started = True
            case Stop():
                running.stop = effect
            case Close():
                pass
            case Connect():
                raise AssertionError("brokers on ZooKeeper ask each other nothing")
            case _:
                self._clients[node_id].execute(effect, self.now_ms)
