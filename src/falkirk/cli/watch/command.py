"""`falkirk watch`: follows running clusters, and says when a way back closes."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import msgspec
import typer

from falkirk.cli.console.exit_code import ExitCode
from falkirk.cli.console.failure import WrongUsageError
from falkirk.cli.console.options import CommandConfigOption, JsonOption  # noqa: TC001 - Typer reads the annotations
from falkirk.cli.console.terminal import print_json, print_text
from falkirk.cli.watch.view import FindingsView, event_line
from falkirk.client.event_loop import run as run_coroutine
from falkirk.watch.core.findings import WayState
from falkirk.watch.errors import WatchError
from falkirk.watch.metrics_server import serving_metrics
from falkirk.watch.watch import Watch
from falkirk.watch.watch_file import Alarms, CommandAlarm, WatchedCluster, WatchFile, read_watch_file

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from falkirk.watch.core.findings import Findings

_ONCE_S: Final = 60.0
BrokersOption = Annotated[
    str | None, typer.Option("--bootstrap-server", metavar="HOST:PORT,...", help="Brokers of one cluster.")
]
ControllersOption = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-controller",
        metavar="HOST:PORT,...",
        help="Its controllers; default: where the brokers say that the voters listen (3.9 and later).",
    ),
]
ControllerConfigOption = Annotated[
    str | None,
    typer.Option(
        "--controller-command-config",
        metavar="FILE",
        help="Properties of connections to controllers; default: those of --command-config.",
    ),
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="A watch.yaml, for many clusters and alarms.")
]
NameOption = Annotated[str, typer.Option("--name", help="What metrics and alarms call the cluster.")]
JournalOption = Annotated[
    str | None,
    typer.Option("--journal", metavar="FILE", help="Keep events here (SQLite), so that none is lost or doubled."),
]
MetricsOption = Annotated[
    str | None,
    typer.Option("--metrics", metavar="[HOST:]PORT", help="Serve Prometheus metrics here; default host 127.0.0.1."),
]
PageOption = Annotated[
    str | None,
    typer.Option("--page", metavar="[HOST:]PORT", help="Serve the page here; default host 127.0.0.1, port 0 is any."),
]
PageTokenOption = Annotated[
    str | None,
    typer.Option(
        "--page-token-file", metavar="FILE", help="What readers of the page must know; needed off the loopback."
    ),
]
ExecOption = Annotated[
    list[str] | None, typer.Option("--exec", metavar="COMMAND", help="Run this for each alarm; may be repeated.")
]
OnceOption = Annotated[bool, typer.Option("--once", help="Print what is known once, and end.")]


def command(
    *,
    bootstrap_server: BrokersOption = None,
    bootstrap_controller: ControllersOption = None,
    config: ConfigOption = None,
    name: NameOption = "cluster",
    journal: JournalOption = None,
    metrics: MetricsOption = None,
    page: PageOption = None,
    page_token_file: PageTokenOption = None,
    execute: ExecOption = None,
    once: OnceOption = False,
    command_config: CommandConfigOption = None,
    controller_command_config: ControllerConfigOption = None,
    json: JsonOption = False,
) -> NoReturn:
    """Follow running clusters: whether each can still go back, and what closed the way. Reads only.

    With --json one line for each change: an object with `findings`, or with `event`. Exit status: 0 after SIGINT or
    SIGTERM; with --once 0 if everything is known, 1 if not.
    """
    if config is not None:
        if bootstrap_server is not None:
            raise WrongUsageError("--config names the clusters: leave --bootstrap-server out")
        file, folder = read_watch_file(config), config.parent
    elif bootstrap_server is None:
        raise WrongUsageError("name a cluster with --bootstrap-server, or many with --config")
    else:
        cluster = WatchedCluster(
            name=name,
            bootstrap_servers=bootstrap_server.split(","),
            bootstrap_controllers=[] if bootstrap_controller is None else bootstrap_controller.split(","),
            command_config=command_config,
            controller_command_config=controller_command_config,
        )
        file, folder = WatchFile(clusters=[cluster]), Path()
    alarms = file.alarms
    if execute:
        alarms = msgspec.structs.replace(alarms, exec=[*alarms.exec, *(CommandAlarm(command=each) for each in execute)])
    file = msgspec.structs.replace(
        file,
        journal=journal or file.journal,
        metrics=metrics or file.metrics,
        page=page or file.page,
        page_token_file=page_token_file or file.page_token_file,
        alarms=_without_log(alarms, once=once),
    )
    if file.journal is None and (alarms.exec or alarms.webhooks):
        raise WrongUsageError("alarms need a journal, so that none is lost or doubled: name one with --journal")
    raise typer.Exit(run_coroutine(_run(file, folder, config, once=once, json=json)))


def _without_log(alarms: Alarms, *, once: bool) -> Alarms:
    return msgspec.structs.replace(alarms, log=False) if once else alarms


async def _run(file: WatchFile, folder: Path, config: Path | None, *, once: bool, json: bool) -> int:
    async with Watch(file, folder) as watch:
        with serving_metrics(watch, file.metrics_endpoint):
            if once:
                return await _print_once(watch, len(file.clusters), json=json)
            async with _serving_page(watch, file, folder):
                await _print_changes(watch, config, json=json)
            return ExitCode.DONE


@asynccontextmanager
async def _serving_page(watch: Watch, file: WatchFile, folder: Path) -> AsyncIterator[None]:
    endpoint = file.page_endpoint
    if endpoint is None:
        yield
        return
    try:
        from falkirk.watch.page.server import serving_page  # noqa: PLC0415 - its packages may not be there
    except ModuleNotFoundError as missing:
        raise WatchError(f"the page needs {missing.name}: pip install 'falkirk[watch]'") from missing
    async with serving_page(watch, endpoint, token=file.page_token(folder)) as address:
        print_text(f"the page is at {address}", sys.stderr)
        yield


async def _print_once(watch: Watch, count: int, *, json: bool) -> int:
    known: dict[str, Findings] = {}
    try:
        async with asyncio.timeout(_ONCE_S):
            async for findings in watch.findings():
                if findings.is_fresh:
                    known[findings.cluster] = findings
                if len(known) == count:
                    break
    except TimeoutError:
        pass
    for name, findings in watch.latest.items():
        _print(known.get(name, findings), json=json)
    return ExitCode.DONE if len(known) == count else ExitCode.FAILED


async def _print_changes(watch: Watch, config: Path | None, *, json: bool) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    tasks = [
        asyncio.create_task(_print_findings(watch, json=json)),
        asyncio.create_task(_print_events(watch, json=json)),
    ]
    if config is not None:
        tasks.append(asyncio.create_task(watch.follow_file(config)))
    stopping = asyncio.create_task(stopped.wait())
    done, _ = await asyncio.wait([stopping, *tasks], return_when=asyncio.FIRST_COMPLETED)
    for task in (stopping, *tasks):
        task.cancel()
    await asyncio.gather(stopping, *tasks, return_exceptions=True)
    for task in done - {stopping}:
        task.result()


async def _print_findings(watch: Watch, *, json: bool) -> None:
    printed: dict[str, object] = {}
    async for findings in watch.findings():
        if json:
            _print(findings, json=True)
            continue
        shown = tuple(FindingsView(findings).text())
        # What repeats is not printed again; what is only about to become known is not printed yet.
        if printed.get(findings.cluster) != shown and not _is_beginning(findings):
            printed[findings.cluster] = shown
            _print(findings, json=False)


def _is_beginning(findings: Findings) -> bool:
    return all(way.state is WayState.UNKNOWN for way in findings.ways) and not any(
        source.reason for source in findings.sources
    )


async def _print_events(watch: Watch, *, json: bool) -> None:
    async for event in watch.events():
        if json:
            print_json({"event": event}, indented=False)
        else:
            print_text(event_line(event))
            _flush()


def _print(findings: Findings, *, json: bool) -> None:
    if json:
        print_json({"findings": findings}, indented=False)
    else:
        for line in FindingsView(findings).text():
            print_text(line)
    _flush()


def _flush() -> None:
    sys.stdout.flush()
