"""`falkirk serve`: run one node of a cluster, as kafka-server-start.

A file with zookeeper.connect and without process.roles makes a broker on ZooKeeper (KIP-584); others make KRaft nodes.
"""

import random
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any

import typer

from falkirk.cli.console.exit_code import ExitCode
from falkirk.cli.console.failure import CommandFailedError, WrongUsageError
from falkirk.cli.console.options import JsonOption
from falkirk.cli.console.terminal import print_json
from falkirk.node.config.node_config import NodeConfig
from falkirk.node.config.server_properties import is_on_zookeeper, read_server_properties
from falkirk.node.effects import Fact
from falkirk.node.node import Node
from falkirk.server.config_values import read_node_properties
from falkirk.server.errors import ServerError
from falkirk.server.fact_log import FactLog, LogFormat, LogLevel
from falkirk.server.garbage_collector import settle_memory
from falkirk.server.opened_node import OpenedNode
from falkirk.server.request_log import RequestLog, RequestLogLayout
from falkirk.server.serve import opened
from falkirk.server.serve_zookeeper import opened_on_zookeeper
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.posix_disk import PosixDisk
from falkirk.versions.configs.definition import ConfigError
from falkirk.versions.release import Release, all_releases
from falkirk.zookeeper_node.config.properties import read_zookeeper_properties
from falkirk.zookeeper_node.config.zookeeper_node_config import ZooKeeperNodeConfig
from falkirk.zookeeper_node.node import ZooKeeperNode

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The node's server.properties.")]
ReleaseOption = Annotated[
    str | None,
    typer.Option(
        "--release",
        metavar="RELEASE",
        help="The Kafka release (3.7 or later) that the node is; default: the newest that falkirk knows, on ZooKeeper "
        "the newest that has one.",
    ),
]
OverrideOption = Annotated[
    list[str] | None,
    typer.Option("--override", metavar="KEY=VALUE", help="Wins over the file; may be repeated."),
]
LogFormatOption = Annotated[
    LogFormat | None, typer.Option("--log-format", help="How log lines on stderr look; default: text.")
]
LogLevelOption = Annotated[LogLevel, typer.Option("--log-level", help="The least that is logged.")]

RequestLogOption = Annotated[
    Path | None,
    typer.Option("--request-log", metavar="FILE", help="Add a JSON line for every answered request to this file."),
]
RequestLogFormatOption = Annotated[
    RequestLogLayout,
    typer.Option("--request-log-format", help="How its lines look: a JSON object alone, or in Kafka's own layout."),
]
Kip778Option = Annotated[
    bool,
    typer.Option("--kip-778", help="On ZooKeeper: write /features as KIP-778 has it, with highest levels only."),
]


def command(
    file: FileArgument,
    *,
    release: ReleaseOption = None,
    override: OverrideOption = None,
    log_format: LogFormatOption = None,
    log_level: LogLevelOption = LogLevel.INFO,
    request_log: RequestLogOption = None,
    request_log_format: RequestLogFormatOption = RequestLogLayout.JSON,
    kip_778: Kip778Option = False,
    json: JsonOption = False,
) -> None:
    """Run one node until SIGTERM or SIGINT, which shut it down cleanly.

    Log lines go to stderr. With --json stdout gets one document as soon as the node serves, and the log lines are JSON
    too unless --log-format says otherwise.
    """
    log = FactLog(sys.stderr, log_format or (LogFormat.JSON if json else LogFormat.TEXT), log_level)
    given = _given(file, override or [])
    if kip_778:
        given["falkirk.kip.778"] = "true"

    def show(config: NodeConfig | ZooKeeperNodeConfig) -> None:
        if json:
            print_json(_document(config), indented=False)

    try:
        requests = None if request_log is None else RequestLog(request_log, request_log_format)
        with _opened(file, given, release, log, requests) as node:
            # What the start has read is frozen before the first step.
            settle_memory()
            stop = node.run_alone(show)
    except ServerError as error:
        raise CommandFailedError(str(error)) from error
    # Whatever the node's own code for its end is, the program has its own (ExitCode).
    if stop.exit_code != ExitCode.DONE:
        raise CommandFailedError(stop.reason or "the node has stopped")
    log.write(Fact("info", f"[{node.name}] shut down completed"))


def served_release(name: str | None, *, on_zookeeper: bool = False) -> Release:
    """Return the release that a node runs as; None: the newest. Raises UnknownReleaseError, IncompleteReleaseError."""
    newest = [release for release in all_releases() if release.has_zookeeper or not on_zookeeper][-1]
    release = newest if name is None else Release.parse(name)
    # Raises IncompleteReleaseError for those that are in the tables with their API ranges only.
    _ = release.kraft
    return release


def _given(file: Path, overrides: list[str]) -> dict[str, str]:
    try:
        return read_node_properties(file, parse_overrides(overrides))
    except CorruptFileError as error:
        raise CommandFailedError(str(error)) from error
    except ConfigError as config_error:
        raise CommandFailedError(f"{file}: {config_error}") from config_error


def _opened(
    file: Path, given: dict[str, str], release: str | None, log: FactLog, requests: RequestLog | None
) -> AbstractContextManager[OpenedNode[Any]]:  # Any: the node's own configuration
    hostname = socket.getfqdn()
    try:
        if is_on_zookeeper(given):
            on_zookeeper = read_zookeeper_properties(
                given, served_release(release, on_zookeeper=True), hostname=hostname
            )
            _warn(on_zookeeper.warnings, log)
            return opened_on_zookeeper(on_zookeeper, make_zookeeper_node, log, request_log=requests)
        properties = read_server_properties(given, served_release(release), hostname=hostname)
        _warn(properties.warnings, log)
        return opened(properties, make_node, log, request_log=requests)
    except ConfigError as error:
        raise CommandFailedError("\n".join(f"{file}: {line}" for line in str(error).splitlines())) from error


def _warn(warnings: Sequence[str], log: FactLog) -> None:
    for warning in warnings:
        log.write(Fact("warning", warning))


def parse_overrides(overrides: list[str]) -> dict[str, str]:
    """Parse the values of --override. Raises WrongUsageError."""
    parsed = {}
    for entry in overrides:
        key, equals, value = entry.partition("=")
        if not equals:
            raise WrongUsageError(f"--override {entry}: KEY=VALUE was expected")
        parsed[key.strip()] = value
    return parsed


def make_node(config: NodeConfig, now_ms: int) -> Node:
    """Open a node's directories. Raises StartupError."""
    # Chance of the system: nodes that start together must not draw alike.
    return Node(config, PosixDisk(), random.SystemRandom(), now_ms, time.perf_counter_ns)


def make_zookeeper_node(config: ZooKeeperNodeConfig, now_ms: int) -> ZooKeeperNode:
    """Return a broker on ZooKeeper."""
    return ZooKeeperNode(config, random=random.SystemRandom(), now_ms=now_ms)


def _document(config: NodeConfig | ZooKeeperNodeConfig) -> dict[str, Any]:  # Any: a JSON document
    kind: dict[str, Any] = (
        {"zookeeper_connect": config.zookeeper_connect}
        if isinstance(config, ZooKeeperNodeConfig)
        else {"process_roles": sorted(config.process_roles)}
    )
    return {
        "node_id": config.node_id,
        "release": config.release.name,
        **kind,
        "metrics_listener": config.metrics_listener,
        "listeners": [
            {
                "name": listener.name,
                "security_protocol": listener.security_protocol,
                "host": listener.endpoint.host,
                "port": listener.endpoint.port,
            }
            for listener in config.listeners
        ],
    }
