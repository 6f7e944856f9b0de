"""A real ZooKeeper for tests; the fixtures `zookeeper` and `chroot` are the usual way to it.

The fixtures bring the mark `zookeeper`; a test that starts a server without them bears it itself.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from kafka_ports import free_ports
from kazoo.client import KazooClient

from falkirk.server.zookeeper_server import ZooKeeperServer, find_class_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Sessions last from 2 ticks on. Nothing has to outlive the machine: what is written is not synced.
SETTINGS = {
    "tickTime": "100",
    "minSessionTimeout": "200",
    "maxSessionTimeout": "60000",
    "4lw.commands.whitelist": "srvr, dump",
}
JAVA_OPTIONS = ("-Dzookeeper.forceSync=no", "-Dreadonlymode.enabled=true")


class PausableServer(ZooKeeperServer):
    """A server that can be paused."""

    def pause(self) -> None:
        """Pause it, without closing its connections."""
        os.kill(self.pid, signal.SIGSTOP)
        # All of its threads have stopped when that is told.
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def resume(self) -> None:
        """Resume it."""
        os.kill(self.pid, signal.SIGCONT)

    def start_again_if_ended(self) -> None:
        """Restart it if an earlier test left it ended."""
        if self._process is None or self._process.poll() is not None:
            self.kill()
            self.start()


def made_server(directory: Path, **settings: str) -> PausableServer:
    """Return a server without starting it; its port stays reserved while it is down. `settings`: lines of zoo.cfg."""
    (port,) = free_ports(1)
    return PausableServer(
        directory,
        class_path=find_class_path(None),
        port=port,
        settings={**SETTINGS, **settings},
        java_options=JAVA_OPTIONS,
    )


@contextmanager
def running_server(directory: Path, **settings: str) -> Iterator[PausableServer]:
    """Run a server: start(), stop(), kill(), pause(), resume(), address, pid."""
    server = made_server(directory, **settings)
    server.start()
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def read_only_server(directory: Path) -> Iterator[PausableServer]:
    """Run one server of three whose others are missing: it accepts no writes."""
    ports = free_ports(6)
    peers = {f"server.{number + 1}": f"127.0.0.1:{ports[number]}:{ports[number + 3]}" for number in range(3)}
    (directory / "data").mkdir()
    (directory / "data" / "myid").write_text("1")
    with running_server(directory, **peers, initLimit="5", syncLimit="2", localSessionsEnabled="true") as server:
        yield server


def new_chroot(server: ZooKeeperServer) -> str:
    """Return a zookeeper.connect value: the server with a new chroot, already created."""
    name = f"/test-{uuid.uuid4().hex[:12]}"
    with kazoo_client(server.address) as client:
        client.create(name)
    return server.address + name


def end_session(connect: str, session_id: int, password: bytes) -> None:
    """End a client's session as if it had expired: take it over and close it with the same bytes.

    The owner takes its session back as fast as it can, so this may need several tries.
    """
    host, _, port = connect.partition("/")[0].partition(":")
    taking = struct.pack(">iqiqi", 0, 0, 10_000, session_id, len(password)) + password + b"\0"
    closing = struct.pack(">ii", 1, -11)
    while True:
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(b"".join(struct.pack(">i", len(frame)) + frame for frame in (taking, closing)))
            answers = b""
            # The server closes the connection in any case.
            with suppress(ConnectionResetError):
                while piece := connection.recv(4096):
                    answers += piece
        # Length, protocol version, and a session timeout that is 0 if there is no such session; with the password 41
        # bytes. After that the answer to the closing: length, number of the request, zxid, error.
        if answers[8:12] == bytes(4) or (answers[45:49], answers[57:61]) == (b"\0\0\0\1", bytes(4)):
            return


@contextmanager
def kazoo_client(connect: str, **options: object) -> Iterator[KazooClient]:
    """Yield a connected kazoo client, to inspect and change a ZooKeeper from outside."""
    client = KazooClient(connect, **options)
    client.start(timeout=30)
    try:
        yield client
    finally:
        client.stop()
        client.close()
