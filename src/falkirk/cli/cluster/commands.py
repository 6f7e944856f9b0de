"""`falkirk cluster up`: a cluster of falkirk's nodes on this machine."""

from __future__ import annotations

import asyncio
import random
import shutil
import signal
import tempfile
import time
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from falkirk.cli.cluster.serve import OverrideOption, make_node, parse_overrides, served_release
from falkirk.cli.cluster.view import KraftConnectionInfo, Spectator
from falkirk.cli.console.failure import CommandFailedError
from falkirk.cli.console.options import JsonOption  # noqa: TC001  Typer reads the annotations when it builds a command
from falkirk.server import process
from falkirk.server.cluster_layout import ClusterLayout, new_layout, read_layout, with_ports, write_cluster
from falkirk.server.errors import ServerError
from falkirk.server.garbage_collector import settle_memory
from falkirk.server.local_cluster import Launcher, LocalCluster
from falkirk.server.local_nodes import NodeProcesses, NodesInProcess, open_kraft_node
from falkirk.versions.configs.definition import ConfigError
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterator

NODES_DEFAULT: Final = 3
_PORT_MAX: Final = 65_535

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

NodesOption = Annotated[
    int | None,
    typer.Option("--nodes", min=1, max=100, help=f"How many brokers there are; default: {NODES_DEFAULT}."),
]
ControllersOption = Annotated[
    int | None,
    typer.Option(
        "--controllers",
        min=1,
        max=9,
        help="How many separate controllers to run; default: every broker is a controller, too.",
    ),
]
ReleaseOption = Annotated[
    str | None,
    typer.Option(
        "--release",
        metavar="RELEASE",
        help="The Kafka release (3.7 or later) that all nodes are; default: the newest that falkirk knows.",
    ),
]
DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Where data and logs are, and stay; a cluster that is there goes on. Default: a directory that is removed "
        "at the end.",
    ),
]
PortOption = Annotated[
    int | None,
    typer.Option(
        "--port",
        metavar="PORT",
        min=1,
        max=_PORT_MAX,
        help="The first broker's port; the other brokers' follow, then the controllers'. Default: free ones.",
    ),
]
SingleProcessOption = Annotated[
    bool, typer.Option("--single-process", help="Run all nodes in this process; default: each is a process.")
]


@app.command("up")
def up(
    *,
    nodes: NodesOption = None,
    controllers: ControllersOption = None,
    release: ReleaseOption = None,
    data: DataOption = None,
    port: PortOption = None,
    single_process: SingleProcessOption = False,
    override: OverrideOption = None,
    json: JsonOption = False,
) -> None:
    """Run a cluster on this machine until Ctrl-C or SIGTERM, which shut it down cleanly; a second one kills it.

    Once all brokers serve, how to connect is printed; with --json as one document on stdout. Later events are printed
    on stderr. Nodes that end are not restarted.
    """
    overrides = parse_overrides(override or [])
    with directory_of(data, prefix="falkirk-cluster-") as directory:
        try:
            layout = _layout(directory, nodes, controllers, release)
            layout = with_ports(layout, port)
            now_ms = time.time_ns() // 1_000_000
            write_cluster(directory, layout, overrides, random=random.SystemRandom(), now_ms=now_ms)
            connecting = partial(KraftConnectionInfo.of, layout, data=str(directory), is_temporary=data is None)
            spectator = Spectator(connecting, json=json)
            with spectator:
                is_all_well = process.run(_run(directory, layout, spectator, single_process=single_process))
        except (ServerError, ConfigError) as error:
            raise CommandFailedError(str(error)) from error
    if not is_all_well:
        raise CommandFailedError("the cluster has not ended in order")


@contextmanager
def directory_of(data: Path | None, *, prefix: str) -> Iterator[Path]:
    """Yield the given directory, or a temporary one that is removed at the end."""
    if data is not None:
        data.mkdir(parents=True, exist_ok=True)
        yield data.resolve()
        return
    directory = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


def _layout(directory: Path, nodes: int | None, controllers: int | None, release: str | None) -> ClusterLayout:
    """Return the cluster in the directory, or a new one. Raises ServerError if it differs from the options."""
    found = read_layout(directory)
    if found is None:
        return new_layout(
            served_release(release),
            brokers=nodes or NODES_DEFAULT,
            controllers=controllers,
            random=random.SystemRandom(),
        )
    if release is not None and served_release(release) != Release.parse(found.release):
        raise ServerError(f"{directory} holds a cluster of release {found.release}, not {served_release(release)}")
    has = {"--nodes": len(found.brokers), "--controllers": 0 if found.is_combined else len(found.controllers)}
    requested = {"--nodes": nodes, "--controllers": controllers}
    for option, count in requested.items():
        if count is not None and count != has[option]:
            raise ServerError(f"{directory} holds a cluster that was made with {option} {has[option]}, not {count}")
    return found


async def _run(directory: Path, layout: ClusterLayout, spectator: Spectator, *, single_process: bool) -> bool:
    async with AsyncExitStack() as stack:
        launcher: Launcher = NodeProcesses(directory, layout)
        if single_process:
            settle_memory()
            launcher = await stack.enter_async_context(
                NodesInProcess(directory, partial(open_kraft_node, directory, layout, make_node))
            )
        cluster = LocalCluster(layout, launcher, spectator)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, cluster.request_shutdown)
        return await cluster.run()
