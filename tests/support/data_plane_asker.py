"""Sends the requests of `data_plane_story` to an in-process broker of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from node_network import BROKER_LISTENER, NodeNetwork, controller_endpoint

from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER
from falkirk.protocol.messages import ApiVersionsRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from node_network import Client

    from falkirk.protocol.schema import WireMessage

BROKER_ID = 2


class NetworkAsker:
    """A controller and the broker under test, with these settings of NodeConfig."""

    def __init__(self, release: str, *, thread_ns: Callable[[], int] = lambda: 0, **settings: Any) -> None:
        self.network = NodeNetwork(release=release)
        self.network.thread_ns = thread_ns
        self.network.add_controllers(1, **settings)
        self._settings = settings
        self._start(BROKER_ID)
        self._client = self._connect()

    def _start(self, node_id: int) -> None:
        voters = {1: controller_endpoint(1)}
        if node_id not in self.network.hosts:
            self.network.add(node_id, roles={BROKER}, quorum_voters=voters, **self._settings)
        host = self.network.start(node_id)
        self.network.run_until(lambda: host.running.broker.state is BrokerState.RUNNING)

    def _connect(self) -> Client:
        return self.network.client(BROKER_ID, BROKER_LISTENER)

    def ask(self, message: WireMessage, version: int) -> Any:
        client = self._client
        correlation_id = client.send(message, version)
        self.network.run_until(lambda: correlation_id in client.answers or client.is_closed)
        if client.is_closed:
            self._client = self._connect()
            return None
        return client.answers.pop(correlation_id)

    def tell(self, message: WireMessage, version: int) -> bool:
        client = self._client
        client.send(message, version)
        # Nobody answers it, so the next answer is another one's.
        client.connection._requested.pop()
        return self.ask(ApiVersionsRequest(), 0) is not None

    def wait(self) -> None:
        self.network.run_for(100)


class TwoBrokersAsker(NetworkAsker):
    """The broker under test, and one that starts when it is asked to."""

    own_id, other_id = BROKER_ID, BROKER_ID + 1

    def start_other(self) -> None:
        """As TransactionAsker."""
        self._start(self.other_id)

    def kill_other(self) -> None:
        """As TransactionAsker."""
        self.network.kill(self.other_id)
