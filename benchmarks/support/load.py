"""The neutral load generator, and single requests to a node."""

import json
import socket
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from falkirk.protocol.connection import Connection, ResponseReceived, Role, request_bytes
from falkirk.protocol.schema import WireMessage
from support.kafka_peer import Peer
from support.process import run_process
from support.server import Server

CLIENT_ID = "bench"
TIMEOUT_S = 120
# A small heap and no more compiler threads than needed: the generator shares the cores with what it measures.
JVM_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
Answer = TypeVar("Answer", bound=WireMessage)


@dataclass(frozen=True, kw_only=True)
class Work:
    """A request that is sent repeatedly. `number_after`: where in it the digits of a running number are.

    `others`: requests of the same kind that the connections send in turn with the first.
    """

    request: WireMessage
    others: Sequence[WireMessage] = ()
    version: int
    number_after: bytes | None = None
    digits: int = 0


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where a load goes: the port of one of `servers`, whose processor time counts."""

    port: int
    servers: Sequence[Server]
    work: Work


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The result of a load, per response: wall seconds, and processor seconds of the measured processes."""

    answers: int
    answer_bytes: float
    seconds: float
    cpu_seconds: float
    p50_us: float
    p99_us: float


def run_load(
    kafka: Peer, targets: Sequence[Target], *, connections: int, in_flight: int, warm_up_ms: int, measured_ms: int
) -> list[Measured]:
    """Send each target its request on this many connections, this many at a time on each; return what each took.

    Targets take turns of a tenth of a second: how fast a core of a shared machine is changes from second to second.
    """
    arguments: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, target in enumerate(targets):
            arguments += _target_arguments(target, Path(folder) / str(number))
        limits = map(str, (connections, in_flight, warm_up_ms, measured_ms))
        command = [kafka.java, *JVM_OPTIONS, "-cp", kafka.class_path, "LoadGenerator", *limits, *arguments]
        done = run_process(command)
    return [_measured(found) for found in json.loads(done.stdout)]


def _target_arguments(target: Target, files: Path) -> list[str]:
    work = target.work
    bodies = [
        request_bytes(request, work.version, correlation_id=0, client_id=CLIENT_ID)
        for request in (work.request, *work.others)
    ]
    counter_at = 0 if work.number_after is None else bodies[0].index(work.number_after) + len(work.number_after)
    names = [f"{files}-{number}" for number in range(len(bodies))]
    for name, body in zip(names, bodies, strict=True):
        Path(name).write_bytes(body)
    pids = ",".join(str(server.pid) for server in target.servers)
    return [f"127.0.0.1:{target.port}", pids, ",".join(names), str(counter_at), str(work.digits)]


def _measured(found: Mapping[str, Any]) -> Measured:
    answers = found["answers"]
    return Measured(
        answers=answers,
        answer_bytes=found["bytes"] / answers,
        seconds=found["seconds"] / answers,
        cpu_seconds=found["cpu_seconds"] / answers,
        p50_us=found["p50_us"],
        p99_us=found["p99_us"],
    )


def ask(port: int, request: WireMessage, version: int, answer: type[Answer]) -> Answer:
    """Send one request to a node on a connection of its own."""
    connection = Connection(role=Role.CLIENT, client_id=CLIENT_ID)
    _, data = connection.send_request(request, version)
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as sock:
        sock.sendall(data)
        while True:
            received = sock.recv(1 << 20)
            assert received, "the node has closed the connection"
            for event in connection.receive_data(received):
                assert isinstance(event, ResponseReceived)
                message = event.message()
                assert isinstance(message, answer)
                return message
