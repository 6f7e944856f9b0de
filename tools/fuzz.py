"""Send a node random and broken requests: every API and version, on all listeners, before and after TLS and SASL.

    python tools/fuzz.py --seed 7 --seconds 600

A node of falkirk runs beside it, with listeners of all security protocols. Of each connection the seed chooses the
listener, how far it logs in, and what it sends: valid requests with random fields, the same with changed bytes, and
bytes of no form. Each whole request must be answered in its version or end its connection, nothing may be logged as an
error, the node must answer others meanwhile, and its memory must stay within a budget. The first violation ends the run
with status 1 and is printed with the seed. The seed decides what is sent; what a node does in between may differ.
"""

from __future__ import annotations

import argparse
import json
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import trustme

from falkirk.protocol import codec
from falkirk.protocol.codec.layout import StructLayout, WireField, message_layout
from falkirk.protocol.connection import request_bytes
from falkirk.protocol.errors import LocalProtocolError, RemoteProtocolError
from falkirk.protocol.messages import (
    REQUESTS,
    RESPONSES,
    ApiVersionsRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
    message_class,
)
from falkirk.versions.api_support import Listener
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.protocol.schema import WireMessage

RELEASE: Final = "4.3"
PROGRAM: Final = Path(sys.executable).with_name("falkirk")
PATIENCE_S: Final = 60
"""Within this time a node answers whoever has no rights, on a busy machine too."""
HELD_S: Final = 0.05
"""How long an answer is waited for that may be held: what was changed may ask for that."""
MEMORY_GROWTH_MAX: Final = 200 << 20
"""In bytes; a node may hold this much of unfinished frames, caches and groups."""
REQUESTS_PER_CHECK: Final = 300
PASSWORD: Final = "fuzz-secret"  # noqa: S105 - of a node that lives as long as a run
_SASL: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
# A right to these is a right to end the cluster: no random request may have it.
_FOR_NODES: Final = frozenset({52, 53, 54, 56, 57, 58, 59, 62, 63, 64, 67, 70, 73, 80, 81, 82, 83})
_BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_EDGES: Final = (b"\0", b"\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\xff" * 10, b"\x01", b"\x80" * 5)


class ViolationError(Exception):
    """The node did what it must not do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where requests are sent: a listener of the node, and the state of the connection.

    `has_rights`: who sends is a super user. `is_deaf`: only bytes of no form make sense, as before a TLS handshake.
    """

    listener: str
    role: Listener
    tls: bool = False
    sasl: bool = False
    has_rights: bool = False
    is_deaf: bool = False


PLACES: Final = (
    Place(listener="PLAIN", role=Listener.BROKER, has_rights=True),
    Place(listener="TLS", role=Listener.BROKER, tls=True),
    Place(listener="TLS", role=Listener.BROKER, is_deaf=True),
    Place(listener="LOGIN", role=Listener.BROKER),
    Place(listener="LOGIN", role=Listener.BROKER, sasl=True),
    Place(listener="BOTH", role=Listener.BROKER, tls=True),
    Place(listener="BOTH", role=Listener.BROKER, tls=True, sasl=True),
    Place(listener="CONTROLLER", role=Listener.CONTROLLER),
    Place(listener="CONTROLLER", role=Listener.CONTROLLER, sasl=True),
)


# --- The node


class Node:
    """A combined node that runs until the block ends."""

    def __init__(
        self, home: Path, process: subprocess.Popen[str], ports: dict[str, int], trust: ssl.SSLContext
    ) -> None:
        self._process = process
        self._log = home / "node.log"
        self.ports = ports
        self.trust = trust

    def errors(self) -> list[str]:
        """Return the lines that the node logged as errors, and those that are not of its log."""
        lines = self._log.read_text().split("\n")[:-1]
        return [line for line in lines if not line.startswith("{") or json.loads(line)["level"] == "error"]

    def memory(self) -> int:
        """Return the memory of the process in bytes; 0 if it is gone."""
        if self._process.poll() is not None:
            return 0
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        return 0


@contextmanager
def running_node(home: Path) -> Iterator[Node]:
    """Format and start a node; it is stopped at the end."""
    authority = trustme.CA(key_type=trustme.KeyType.ECDSA)
    leaf = authority.issue_cert("127.0.0.1", key_type=trustme.KeyType.ECDSA)
    store = home / "node.pem"
    store.write_bytes(leaf.private_key_and_cert_chain_pem.bytes())
    with socket.create_server(("127.0.0.1", 0)) as probe:
        controller_port = probe.getsockname()[1]
    properties = home / "server.properties"
    properties.write_text(
        "".join(f"{key}={value}\n" for key, value in _properties(home, store, controller_port).items())
    )
    cluster_id = "ZnV6emVkLWNsdXN0ZXItMQ"
    format_ = [str(PROGRAM), "storage", "format", "--config", str(properties), "--cluster-id", cluster_id]
    subprocess.run([*format_, "--release", RELEASE], check=True, stdout=subprocess.DEVNULL)
    serve = [str(PROGRAM), "serve", str(properties), "--release", RELEASE, "--json"]
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    with (
        (home / "node.log").open("w") as log,
        subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise ViolationError(f"the node does not start:\n{(home / 'node.log').read_text()}")
            yield Node(home, process, {each["name"]: each["port"] for each in json.loads(line)["listeners"]}, trust)
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def _properties(home: Path, store: Path, controller_port: int) -> dict[str, str]:
    jaas = f'{_SASL} required username="node" password="{PASSWORD}" user_node="{PASSWORD}" user_fuzz="{PASSWORD}";'
    own = {f"listener.name.{name}.plain.sasl.jaas.config": jaas for name in ("login", "both", "controller")}
    return own | {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": "PLAIN://127.0.0.1:0,TLS://127.0.0.1:0,LOGIN://127.0.0.1:0,BOTH://127.0.0.1:0,"
        f"CONTROLLER://127.0.0.1:{controller_port}",
        "listener.security.protocol.map": "PLAIN:PLAINTEXT,TLS:SSL,LOGIN:SASL_PLAINTEXT,BOTH:SASL_SSL,"
        "CONTROLLER:SASL_PLAINTEXT",
        "inter.broker.listener.name": "PLAIN",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(store),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:node;User:ANONYMOUS",
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
        "group.initial.rebalance.delay.ms": "0",
        "connection.failed.authentication.delay.ms": "0",
        "log.dirs": str(home / "data"),
    }


# --- Requests


def random_request(random: Random, place: Place) -> tuple[WireMessage, int]:
    """Return a request of any API of the listener, with random fields, and its version."""
    ranges = Release.parse(RELEASE).api_ranges(place.role)
    keys = [key for key in sorted(ranges) if not (place.has_rights and key in _FOR_NODES)]
    key = random.choice(keys)
    version = random.randint(ranges[key].lowest, ranges[key].highest)
    return _struct(random, message_layout(message_class(REQUESTS[key]), version)), version


def _struct(random: Random, layout: StructLayout) -> Any:  # Any: a struct of the layout's class
    return layout.cls(**{field.attribute: _value(random, field) for field in layout.all_fields})


def _value(random: Random, field: WireField) -> Any:  # Any: of the field's type
    if field.nullable and random.random() < 0.1:
        return None
    if field.attribute.endswith("_ms"):
        return random.choice((0, 1, 100))
    count = random.choice((0, 1, 1, 2, 5)) if field.is_array else 1
    values = [_struct(random, field.struct) if field.struct else _primitive(random, field.type) for _ in range(count)]
    if not field.is_array:
        return values[0]
    return values if field.struct else tuple(values)


def _primitive(random: Random, kind: str) -> Any:  # Any: same
    if kind in _BITS:
        highest = 2 ** (_BITS[kind] - 1)
        return random.choice((0, 1, -1, 2, random.randint(-highest, highest - 1), highest - 1))
    if kind in {"string", "uuid", "bytes", "records"}:
        data = random.randbytes(random.choice((0, 1, 20, 300)))
        return {
            "string": random.choice(
                ("", "t", "g", "__cluster_metadata", "\0", "a b", "x" * 300, data.decode("latin-1"))
            ),
            "uuid": random.choice((bytes(16), random.randbytes(16))),
        }.get(kind, data)
    highest = {"uint16": 2**16, "uint32": 2**32}.get(kind, 2)
    return {"bool": bool(random.getrandbits(1)), "float64": random.random()}.get(kind, random.randrange(highest))


def changed(random: Random, frame: bytes) -> bytes:
    """Return a frame with some bytes replaced, left out or added; its length may be wrong afterwards."""
    data = bytearray(frame)
    for _ in range(random.choice((1, 1, 2, 8))):
        start = random.randint(min(4, len(data)) if random.random() < 0.8 else 0, len(data))
        end = min(len(data), start + random.choice((0, 1, 1, 4, 50)))
        data[start:end] = random.choice((*_EDGES, b"", random.randbytes(random.choice((1, 4, 50)))))
    if random.random() < 0.8:
        data[:4] = max(len(data) - 4, 0).to_bytes(4, "big")
    return bytes(data)


# --- Connections


class Client:
    """A connection to a place of a node."""

    def __init__(self, node: Node, place: Place) -> None:
        self._socket = socket.create_connection(("127.0.0.1", node.ports[place.listener]), PATIENCE_S)
        self._count = 0
        if place.tls:
            self._socket = node.trust.wrap_socket(self._socket, server_hostname="127.0.0.1")
        if place.sasl:
            self._log_in()

    def ask(self, message: WireMessage, version: int) -> WireMessage:
        """Send a request and return its response. Raises OSError if the connection is closed, or ViolationError."""
        self._count += 1
        body = request_bytes(message, version, correlation_id=self._count, client_id="fuzz")
        self.send(len(body).to_bytes(4, "big") + body)
        return self._response(message, version)

    def send(self, data: bytes) -> None:
        """Send bytes. Raises OSError."""
        self._socket.settimeout(PATIENCE_S)
        self._socket.sendall(data)

    def is_quiet(self) -> bool:
        """Return whether the connection stays open a moment, whatever comes."""
        self._socket.settimeout(HELD_S)
        try:
            return bool(self._socket.recv(1 << 16))
        except TimeoutError:
            return True
        except OSError:
            return False

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _log_in(self) -> None:
        self.ask(SaslHandshakeRequest("PLAIN"), 1)
        self.ask(SaslAuthenticateRequest(f"\0fuzz\0{PASSWORD}".encode()), 2)

    def _response(self, request: WireMessage, version: int) -> WireMessage:
        data = self._read(int.from_bytes(self._read(4), "big"))
        key = request.SCHEMA.info.key
        assert key is not None, "a request has a key"
        name = request.SCHEMA.info.name
        if int.from_bytes(data[:4], "big") != self._count:
            raise ViolationError(f"{name} v{version}: the answer is another request's")
        header = Release.parse(RELEASE).apis[key].response_header_version(version)
        try:
            return codec.decode(message_class(RESPONSES[key]), version, data[4 + header :])
        except RemoteProtocolError as error:
            raise ViolationError(f"{name} v{version}: the answer is not of that version: {error}") from error

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise ConnectionResetError("closed by the node")
            data += piece
        return data


# --- A run


class Run:
    """Sends requests that one seed chooses to one node."""

    def __init__(self, node: Node, random: Random) -> None:
        self._node = node
        self._random = random
        self.sent = 0
        self.answered = 0
        self.closed = 0
        self._checked_at = 0
        self._memory = node.memory()

    def go_on(self, *, seconds: float | None, requests: int | None) -> None:
        """Send until the time is over or as many are sent. Raises ViolationError."""
        end_s = None if seconds is None else time.monotonic() + seconds
        while (end_s is None or time.monotonic() < end_s) and (requests is None or self.sent < requests):
            self._use_connection(self._random.choice(PLACES))
            if self.sent >= self._checked_at + REQUESTS_PER_CHECK:
                self._checked_at = self.sent
                self._check()
        self._check()

    def _use_connection(self, place: Place) -> None:
        client = Client(self._node, place)
        try:
            for _ in range(self._random.choice((1, 3, 10))):
                self.sent += 1
                if place.is_deaf or self._random.random() < 0.1:
                    client.send(self._random.randbytes(self._random.choice((1, 5, 100, 3000))))
                    break
                if not self._send_request(client, place):
                    break
        except (OSError, EOFError):
            # As it should where a request cannot be read, or may not be sent yet.
            self.closed += 1
        finally:
            client.close()

    def _send_request(self, client: Client, place: Place) -> bool:
        """Return whether the connection can be used further."""
        message, version = random_request(self._random, place)
        try:
            body = request_bytes(message, version, correlation_id=self.sent, client_id="fuzz")
        except LocalProtocolError:
            return True  # some values are not for this version
        if self._random.random() < 0.5:
            client.send(changed(self._random, len(body).to_bytes(4, "big") + body))
            return client.is_quiet() and False
        if place.has_rights or (isinstance(getattr(message, "acks", None), int) and message.acks == 0):  # type: ignore[attr-defined]
            client.send(len(body).to_bytes(4, "big") + body)
            return client.is_quiet() and False
        try:
            client.ask(message, version)
        except TimeoutError as error:
            raise ViolationError(f"no answer to {message.SCHEMA.info.name} v{version}: {message}") from error
        self.answered += 1
        return True

    def _check(self) -> None:
        """Raise ViolationError unless the node answers, has logged no error, and has not grown too much."""
        errors = self._node.errors()
        if errors:
            raise ViolationError(f"the node logged {len(errors)} errors, first: {errors[0]}")
        for place in PLACES:
            if place.is_deaf:
                continue
            try:
                client = Client(self._node, place)
                client.ask(ApiVersionsRequest("fuzz", "1"), 3)
            except OSError as error:
                raise ViolationError(f"the node does not answer on {place.listener}: {error}") from error
            client.close()
        growth = self._node.memory() - self._memory
        if growth > MEMORY_GROWTH_MAX:
            raise ViolationError(f"the node's memory grew by {growth >> 20} MiB")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and return the exit status."""
    parser = argparse.ArgumentParser(description="Send a node random and broken requests.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, help="default: 60, if there are no --requests")
    parser.add_argument("--requests", type=int, help="end after this many")
    options = parser.parse_args(arguments)
    seconds = 60.0 if options.seconds is None and options.requests is None else options.seconds
    with tempfile.TemporaryDirectory() as home, running_node(Path(home)) as node:
        run = Run(node, Random(options.seed))  # noqa: S311 - a seed is to give the same requests
        try:
            run.go_on(seconds=seconds, requests=options.requests)
        except ViolationError as error:
            print(f"seed {options.seed}, after {run.sent} requests: {error}", file=sys.stderr)
            return 1
    print(f"seed {options.seed}: {run.sent} sent, {run.answered} answered, {run.closed} connections closed by the node")
    return 0


if __name__ == "__main__":
    sys.exit(main())
