"""`falkirk zookeeper up`: a real ZooKeeper and falkirk's brokers on it, for a trial of KIP-584 as it was written."""

from __future__ import annotations

import asyncio
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from falkirk.cli.cluster.commands import NODES_DEFAULT, directory_of
from falkirk.cli.cluster.serve import (
    OverrideOption,
    make_zookeeper_node,
    parse_overrides,
    served_release,
)
from falkirk.cli.cluster.view import Spectator
from falkirk.cli.console.failure import CommandFailedError
from falkirk.cli.console.options import JsonOption  # noqa: TC001  Typer reads the annotations when it builds a command
from falkirk.cli.console.terminal import print_text
from falkirk.server import process
from falkirk.server.cluster_layout import with_ports
from falkirk.server.errors import ServerError
from falkirk.server.garbage_collector import settle_memory
from falkirk.server.local_cluster import LocalCluster
from falkirk.server.local_nodes import NodesInProcess
from falkirk.server.zookeeper_nodes import ZooKeeperNodes, brokers_layout
from falkirk.server.zookeeper_server import ZooKeeperServer, find_class_path
from falkirk.versions.configs.definition import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.server.cluster_layout import ClusterLayout

_PORT_MAX: Final = 65_535

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

NodesOption = Annotated[
    int, typer.Option("--nodes", min=1, max=100, help=f"How many brokers there are; default: {NODES_DEFAULT}.")
]
ReleaseOption = Annotated[
    str | None,
    typer.Option(
        "--release",
        metavar="RELEASE",
        help="The Kafka release (3.7 to 3.9) that all nodes are; default: the newest that has ZooKeeper.",
    ),
]
DataDirOption = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        help="Where ZooKeeper's data and all logs are, and stay. Default: a directory that is removed at the end.",
    ),
]
PortOption = Annotated[
    int | None,
    typer.Option(
        "--port",
        metavar="PORT",
        min=1,
        max=_PORT_MAX,
        help="ZooKeeper's port; the brokers' follow. Default: free ones.",
    ),
]
ClassPathOption = Annotated[
    str | None,
    typer.Option(
        "--class-path",
        metavar="PATH",
        help="ZooKeeper's jars: a directory (libs of Kafka 3.x, lib of ZooKeeper) or a class path. Default: those "
        "that PySpark brings (extra `spark`).",
    ),
]


# A group though it has one command.
@app.callback()
def zookeeper() -> None:
    """Features in ZooKeeper, as KIP-584 was written."""


@app.command("up")
def up(
    *,
    nodes: NodesOption = NODES_DEFAULT,
    release: ReleaseOption = None,
    data_dir: DataDirOption = None,
    port: PortOption = None,
    class_path: ClassPathOption = None,
    override: OverrideOption = None,
    json: JsonOption = False,
) -> None:
    """Run a ZooKeeper and brokers on it until Ctrl-C or SIGTERM, which shut them down cleanly; a second one kills them.

    Once all brokers serve, how to connect is printed; with --json as one document on stdout. Later events are printed
    on stderr. All brokers run in this process; ZooKeeper is a process of its own (Java).
    """
    overrides = parse_overrides(override or [])
    layout = brokers_layout(served_release(release, on_zookeeper=True), nodes)
    with directory_of(data_dir, prefix="falkirk-zookeeper-") as directory:
        try:
            server = ZooKeeperServer(directory / "zookeeper", class_path=find_class_path(class_path), port=port or 0)
            layout = with_ports(layout, None if port is None else port + 1)
            brokers = ZooKeeperNodes(
                directory=directory,
                layout=layout,
                zookeeper=server.address,
                overrides=overrides,
                make_node=make_zookeeper_node,
            )
            brokers.write()
            connecting = ZooKeeperConnectionInfo(layout, server.address, str(directory), is_temporary=data_dir is None)
            with Spectator(lambda _: connecting, json=json) as spectator:
                is_all_well = process.run(_run(server, brokers, spectator))
        except (ServerError, ConfigError) as error:
            raise CommandFailedError(str(error)) from error
    if not is_all_well:
        raise CommandFailedError("the cluster has not ended in order")


async def _run(server: ZooKeeperServer, brokers: ZooKeeperNodes, spectator: Spectator) -> bool:
    settle_memory()
    async with NodesInProcess(brokers.directory, brokers.open) as launcher:
        cluster = LocalCluster(brokers.layout, launcher, spectator)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, cluster.request_shutdown)
        await asyncio.to_thread(server.start)
        watching = asyncio.create_task(_watch(server, cluster))
        try:
            is_all_well = await cluster.run()
            return is_all_well and not watching.done()
        finally:
            watching.cancel()
            # Longer than the brokers, which take their znodes away. That ends the thread that waits for it, too.
            await asyncio.to_thread(server.stop)


async def _watch(server: ZooKeeperServer, cluster: LocalCluster) -> None:
    """Stop the brokers if ZooKeeper ends by itself."""
    await asyncio.to_thread(server.wait)
    print_text(f"ZooKeeper has ended; its log is {server.log_file}", sys.stderr)
    cluster.request_shutdown()


@dataclass(frozen=True, slots=True)
class ZooKeeperConnectionInfo:
    """How to connect to brokers on ZooKeeper."""

    layout: ClusterLayout
    zookeeper: str
    data: str
    is_temporary: bool

    def text(self) -> Iterator[str]:
        """Yield the lines for people."""
        document, nodes = self.document(), len(self.layout.nodes)
        brokers = f"{nodes} {'broker' if nodes == 1 else 'brokers'}"
        yield f"A ZooKeeper and {brokers} on it run, as Kafka {self.layout.release}."
        for name in ("zookeeper_connect", "bootstrap_servers"):
            yield f"  {name.replace('_', ' '):<18} {document[name]}"
        yield f"  {'data':<18} {self.data}{' (removed at the end)' if self.is_temporary else ''}"
        yield "Ctrl-C stops it."

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the same by fields."""
        return {
            "release": self.layout.release,
            "zookeeper_connect": self.zookeeper,
            "bootstrap_servers": ",".join(map(str, self.layout.bootstrap_servers)),
            "data": self.data,
            "is_temporary": self.is_temporary,
            "nodes": [{"node_id": node.node_id, "broker_port": node.broker_port} for node in self.layout.nodes],
        }
