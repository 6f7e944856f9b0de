"""Brokers of ours on ZooKeeper as `falkirk serve` processes, to be killed, or paused and resumed."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from falkirk.client.admin import AsyncAdmin
from falkirk.client.config import ClientConfig
from falkirk.client.errors import ClientError
from falkirk.protocol.endpoint import Endpoint

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from falkirk.client.cluster_description import ClusterDescription
    from falkirk.client.feature_metadata import FeatureMetadata

TIMEOUT_S = 60
_POLL_S = 0.05


class BrokerProcess:
    """One broker that serves."""

    def __init__(self, node_id: int, process: asyncio.subprocess.Process, port: int) -> None:
        self.node_id = node_id
        self.process = process
        self.endpoint = Endpoint("127.0.0.1", port)

    def kill(self) -> None:
        """Kill the process."""
        self.process.kill()

    def pause(self) -> None:
        """Pause the process."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Resume the process."""
        self.process.send_signal(signal.SIGCONT)

    async def cluster(self) -> ClusterDescription:
        """Send DescribeCluster."""
        async with AsyncAdmin([self.endpoint], _CLIENT) as admin:
            return await admin.describe_cluster()

    async def features(self) -> FeatureMetadata:
        """Read the features that it reports."""
        async with AsyncAdmin([self.endpoint], _CLIENT) as admin:
            return await admin.describe_features()


@asynccontextmanager
async def broker_processes(
    directory: Path, connect: str, count: int, *options: str, **properties: str
) -> AsyncIterator[dict[int, BrokerProcess]]:
    """Start brokers 1, 2, ... with `options` of `falkirk serve`; the remaining ones end with the block."""
    begun: list[asyncio.subprocess.Process] = []
    brokers: dict[int, BrokerProcess] = {}
    try:
        for node_id in range(1, count + 1):
            process = await _begin(directory, connect, node_id, options, properties)
            begun.append(process)
        for node_id, process in enumerate(begun, 1):
            assert process.stdout is not None
            line = await asyncio.wait_for(process.stdout.readline(), TIMEOUT_S)
            assert line, (directory / f"{node_id}.log").read_text()
            brokers[node_id] = BrokerProcess(node_id, process, json.loads(line)["listeners"][0]["port"])
        yield brokers
    finally:
        for process in begun:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait for a condition on what processes report."""
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            try:
                if await holds():
                    return
            except ClientError:
                pass
            await asyncio.sleep(_POLL_S)


async def _begin(
    directory: Path, connect: str, node_id: int, options: tuple[str, ...], properties: dict[str, str]
) -> asyncio.subprocess.Process:
    file = directory / f"{node_id}.properties"
    given = {
        "broker.id": str(node_id),
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "zookeeper.connect": connect,
        **{name.replace("_", "."): value for name, value in properties.items()},
    }
    file.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
    with (directory / f"{node_id}.log").open("wb") as log:
        return await asyncio.create_subprocess_exec(
            *(Path(sys.executable).with_name("falkirk"), "serve", file, "--json", "--release", "3.9", *options),
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
        )


_CLIENT = ClientConfig(request_timeout_ms=10_000)
