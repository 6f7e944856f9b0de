"""`falkirk cluster up` as a process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from falkirk.client.admin import AsyncAdmin
from falkirk.client.config import ClientConfig, parse_servers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.protocol.schema import WireMessage

PROGRAM = Path(sys.executable).with_name("falkirk")
TIMEOUT_S = 120


class Running:
    """A running cluster; `document`: what it printed."""

    def __init__(self, process: subprocess.Popen[str], document: dict[str, Any]) -> None:
        self.process = process
        self.document = document

    def ask(self, message: WireMessage, *, client_id: str = "falkirk") -> Any:
        """Send a request to a broker."""

        async def ask() -> WireMessage:
            servers = parse_servers(self.document["bootstrap_servers"])
            async with AsyncAdmin(servers, ClientConfig(client_id=client_id)) as admin:
                return await admin.request(message)

        return asyncio.run(ask())

    def brokers(self) -> list[int]:
        """Return the brokers that are alive."""

        async def ask() -> list[int]:
            async with AsyncAdmin(parse_servers(self.document["bootstrap_servers"]), ClientConfig()) as admin:
                return [node.node_id for node in (await admin.describe_cluster()).nodes]

        return asyncio.run(ask())

    def stop(self, number: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        """Stop the cluster; return its exit status and its stderr."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, said

    def kill(self, node_id: int) -> None:
        """Kill the process of one node."""
        (killed,) = [pid for pid, command in children(self.process.pid) if f"node-{node_id}/" in command]
        os.kill(killed, signal.SIGKILL)


def children(pid: int) -> list[tuple[int, str]]:
    """Return the child processes of a process, with their command lines."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid:
                found.append((int(stat.parent.name), (stat.parent / "cmdline").read_text().replace("\0", " ")))
        except OSError:
            continue
    return found


@contextmanager
def up(*options: str | Path) -> Iterator[Running]:
    command = [str(PROGRAM), "cluster", "up", "--json", *map(str, options)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.communicate(timeout=TIMEOUT_S)[1]
            yield Running(process, json.loads(line))
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=TIMEOUT_S)


@contextmanager
def serving(properties: Path, *options: str | Path) -> Iterator[dict[str, Any]]:
    """Run one node with `falkirk serve`; yield what it printed."""
    command = [str(PROGRAM), "serve", str(properties), "--json", *map(str, options)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as node:
        try:
            assert node.stdout is not None
            yield json.loads(node.stdout.readline())
        finally:
            node.terminate()
            node.wait(TIMEOUT_S)
