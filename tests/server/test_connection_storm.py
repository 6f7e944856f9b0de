"""A storm of connections on real sockets: the broker keeps its session with the controller behind it.

That heartbeats are heard before what clients send is for `test_node_driver` to say: here the machine may be fast enough
without.
"""

import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.compression import Compression
from falkirk.protocol.connection import Connection, ResponseReceived, Role
from falkirk.protocol.messages import CreateTopicsRequest, MetadataRequest, ProduceRequest
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.record import Record
from falkirk.protocol.schema import WireMessage

PROGRAM = Path(sys.executable).with_name("falkirk")
SESSION_MS = 4000
CONNECTIONS = 200
HOST = "127.0.0.1"


class Client:
    """Asks one question after the other."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((HOST, port), timeout=60)
        self._connection = Connection(role=Role.CLIENT, client_id="tester")

    def ask(self, message: WireMessage, version: int) -> Any:
        _, data = self._connection.send_request(message, version)
        self._socket.sendall(data)
        while True:
            for event in self._connection.receive_data(self._socket.recv(1 << 16)):
                assert isinstance(event, ResponseReceived)
                return event.message()

    def close(self) -> None:
        self._socket.close()


def free_port() -> int:
    with socket.create_server((HOST, 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """Yield the port of a broker that runs, and is its own controller."""
    broker, controller = free_port(), free_port()
    properties = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{HOST}:{broker},CONTROLLER://{HOST}:{controller}",
        "controller.quorum.voters": f"1@{HOST}:{controller}",
        "log.dirs": str(tmp_path / "data"),
        "broker.session.timeout.ms": str(SESSION_MS),
        "broker.heartbeat.interval.ms": "500",
        "offsets.topic.replication.factor": "1",
    }
    file = tmp_path / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    (tmp_path / "data").mkdir()
    formatting = [PROGRAM, "storage", "format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAQ", "--config", file]
    subprocess.run(formatting, check=True, capture_output=True)
    log = (tmp_path / "log").open("wb")
    with log, subprocess.Popen([PROGRAM, "serve", file, "--json"], stdout=subprocess.PIPE, stderr=log) as node:
        try:
            assert node.stdout is not None
            assert node.stdout.readline()
            yield broker
            assert node.poll() is None, (tmp_path / "log").read_text()
        finally:
            node.kill()


def storm_bytes() -> list[bytes]:
    """Return what the connections of a storm send, in turns."""
    connection = Connection(role=Role.CLIENT, client_id="storm")
    records = build_batch([Record(0, 0, None, bytes(5 << 20))], base_offset=0, compression=Compression.ZSTD)
    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(0, records)])
    bombs = [connection.send_request(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[data]), 8)[1]] * 5
    questions = [connection.send_request(MetadataRequest(), 12)[1]] * 500
    half = struct.pack(">ihhih", 1_000_000, 0, 8, 7, -1) + bytes(1000)
    return [b"GET / HTTP/1.1\r\n\r\n", struct.pack(">i", 30) + b"\xff" * 30, half, b"".join(questions), b"".join(bombs)]


@pytest.mark.slow
def test_a_broker_is_not_fenced_while_connections_storm(port: int) -> None:
    client = Client(port)
    assert client.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)], 30_000), 5).topics[0].error_code == 0
    asked = MetadataRequest([MetadataRequestTopic(name="t")])
    while not (told := client.ask(asked, 12).topics[0].partitions):
        time.sleep(0.1)
    (before,) = told

    # For longer than a session lasts without heartbeats.
    end = time.monotonic() + 1.5 * SESSION_MS / 1000
    storm: list[socket.socket] = []
    kinds = storm_bytes()
    while time.monotonic() < end:
        for number in range(CONNECTIONS):
            one = socket.create_connection((HOST, port), timeout=60)
            one.setblocking(False)
            storm.append(one)
            # Nobody reads the answers, and the broker may have closed it already.
            with suppress(OSError):
                one.send(kinds[number % len(kinds)])
        while len(storm) > CONNECTIONS:
            storm.pop(0).close()

    other = Client(port)
    after = other.ask(asked, 12).topics[0].partitions[0]
    # A broker that is fenced loses its leaderships: the epoch would be another.
    assert (after.leader_id, after.leader_epoch) == (1, before.leader_epoch)
    good = build_batch([Record(0, int(time.time() * 1000), None, b"v")], base_offset=0)
    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(0, good)])
    produced = other.ask(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data]), 8)
    assert produced.responses[0].partition_responses[0].error_code == 0
    for one in (*storm, client, other):
        one.close()
