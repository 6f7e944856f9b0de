"""Listeners and limits of connections that change on a running broker: a real one and ours do the same."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from falkirk_node import OurCluster
from kafka_cluster import Clusters, KafkaCluster
from kafka_ports import free_ports
from socket_asker import SocketAsker
from waiting import becomes

from falkirk.protocol.connection import Connection, Role
from falkirk.protocol.messages import ApiVersionsRequest, IncrementalAlterConfigsRequest, MetadataRequest
from falkirk.protocol.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource

pytestmark = pytest.mark.interop
BROKER = 4
_TIMEOUT_S = 30
PROTOCOLS = "listener.security.protocol.map"


class Story:
    """One broker with the listeners PLAINTEXT, which is advertised, SCRAM and CONTROLLER; NEW comes and goes."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self._layout = layout = cluster.layouts[0]
        self._asker = SocketAsker(layout.broker_port)
        self._port, self._other_port = free_ports(2)
        self._listeners = [
            f"PLAINTEXT://127.0.0.1:{layout.broker_port}",
            f"SCRAM://127.0.0.1:{layout.scram_port}",
            f"CONTROLLER://127.0.0.1:{layout.controller_port}",
        ]

    def outcomes(self) -> Iterator[tuple[str, object]]:
        """Play the story."""
        protocols = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SCRAM:SASL_PLAINTEXT"
        new = f"NEW://127.0.0.1:{self._port}"
        own, listeners = "1", self._listeners
        for name, resource, changes in (
            ("no protocol", own, {"listeners": ",".join([*listeners, new])}),
            ("of all brokers", "", {"listeners": ",".join(listeners)}),
            ("protocols of all brokers", "", {PROTOCOLS: protocols}),
            ("without what is advertised", own, {"listeners": ",".join(listeners[1:])}),
            ("without the controller", own, {"listeners": ",".join(listeners[:2])}),
            ("another protocol", own, {PROTOCOLS: protocols.replace("SCRAM:SASL_PLAINTEXT", "SCRAM:PLAINTEXT")}),
            ("a protocol less", own, {PROTOCOLS: "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"}),
            ("no listener", own, {"listeners": "x"}),
            ("NEW", own, {"listeners": ",".join([*listeners, new]), PROTOCOLS: f"{protocols},NEW:PLAINTEXT"}),
        ):
            yield name, self._alter(resource, changes)
        becomes(lambda: self._is_open(self._port), True)
        asker = SocketAsker(self._port)
        yield "asked at NEW", [node.node_id for node in asker.ask(MetadataRequest(topics=[]), 12).brokers]
        asker.close()
        held = socket.create_connection(("127.0.0.1", self._port), _TIMEOUT_S)
        moved = f"NEW://127.0.0.1:{self._other_port}"
        yield "NEW elsewhere", self._alter(own, {"listeners": ",".join([*listeners, moved])})
        yield "open", (self._is_open(self._port), self._is_open(self._other_port))
        # Else a real broker looks for NEW at its new address, and leaves it open.
        yield "NEW where it was", self._alter(own, {"listeners": ",".join([*listeners, new])})
        yield "without NEW and SCRAM", self._alter(own, {"listeners": ",".join([listeners[0], listeners[2]])})
        becomes(lambda: self._is_open(self._port), False)
        becomes(lambda: self._is_open(self._layout.scram_port), False)
        yield "a connection to what was NEW", held.recv(1)
        held.close()
        yield "as before", self._alter(own, {"listeners": None, PROTOCOLS: None})
        becomes(lambda: self._is_open(self._layout.scram_port), True)

    def limits(self) -> Iterator[tuple[str, object]]:
        """Play the story of the limits of connections; the asker's own counts."""
        key = "listener.name.plaintext.max.connections"
        yield "three", self._alter("1", {key: "3"})
        becomes(lambda: self._answered(4), 2)
        askers = [self._connected() for _ in range(3)]
        askers[0].close()
        # Whichever was told to wait is served now.
        yield "one has left", askers[2].ask(ApiVersionsRequest(), 0) is not None
        for asker in askers[1:]:
            asker.close()
        yield "no limit", self._alter("1", {key: None})
        yield "two of an address", self._alter("", {"max.connections.per.ip": "2"})
        becomes(lambda: self._answered(4), 1)
        yield "any number", self._alter("", {"max.connections.per.ip": None})
        becomes(lambda: self._answered(4), 4)
        rate = "listener.name.plaintext.max.connection.creation.rate"
        yield "two each second", self._alter("1", {rate: "2"})
        becomes(lambda: self._answered(30) < 30, True)
        yield "any rate", self._alter("1", {rate: None})

    def _connected(self) -> SocketAsker:
        return SocketAsker(self._layout.broker_port)

    def _answered(self, count: int) -> int:
        """Open connections, ask on each, and return on how many an answer came soon."""
        sockets = [socket.create_connection(("127.0.0.1", self._layout.broker_port), 1) for _ in range(count)]
        answered = 0
        for each in sockets:
            _, data = Connection(role=Role.CLIENT, client_id="tester").send_request(ApiVersionsRequest(), 0)
            try:
                each.sendall(data)
                answered += bool(each.recv(1))
            except (TimeoutError, ConnectionError):
                break
        for each in sockets:
            each.close()
        return answered

    def close(self) -> None:
        """Close the connection."""
        self._asker.close()

    def _alter(self, resource: str, changes: dict[str, str | None]) -> int:
        configs = [AlterableConfig(name, 1 if value is None else 0, value) for name, value in changes.items()]
        request = IncrementalAlterConfigsRequest([AlterConfigsResource(BROKER, resource, configs)], validate_only=False)
        answer: Any = self._asker.ask(request, 1)
        return int(answer.responses[0].error_code)

    def _is_open(self, port: int) -> bool:
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
        except ConnectionRefusedError:
            return False
        return True


def told(cluster: KafkaCluster) -> list[tuple[str, object]]:
    cluster.format()
    with cluster.running():
        story = Story(cluster)
        told = [*story.outcomes(), *story.limits()]
        story.close()
    return told


@pytest.mark.parametrize("release", ["4.3.1", pytest.param("3.9.1", marks=pytest.mark.full)])
def test_listeners_and_limits_change_as_on_a_real_broker(release: str, clusters: Clusters, tmp_path: Path) -> None:
    real = clusters.new(release)
    ours = clusters.adopt(OurCluster.new(release, tmp_path / "ours"))
    for cluster in (real, ours):
        for node in cluster.nodes.values():
            node.settings["advertised.listeners"] = f"PLAINTEXT://127.0.0.1:{node.layout.broker_port}"
    assert told(ours) == told(real)
