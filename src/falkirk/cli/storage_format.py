"""`falkirk storage format` and `info`: from the command line and server.properties to what storage.formatting does."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.cli.failure import CommandFailedError
from falkirk.cli.kafka_tool import refuse_leftovers, storage_tool
from falkirk.cli.output import choose_output
from falkirk.node.server_properties import read_server_properties
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.formatting.errors import FormatterError
from falkirk.storage.formatting.formatter import FormatRequest, format_storage
from falkirk.storage.formatting.info import StorageInfo, storage_info
from falkirk.storage.formatting.rules import format_rules
from falkirk.storage.posix_disk import PosixDisk
from falkirk.storage.properties_file import parse_properties
from falkirk.versions.config_definition import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from falkirk.cli.kafka_tool import KafkaTool
    from falkirk.node.config import NodeConfig
    from falkirk.storage.disk import Disk
    from falkirk.storage.formatting.formatter import FormattedStorage
    from falkirk.versions.release import Release

_LEGACY: Final = (
    "The kafka configuration file appears to be for a legacy cluster. Formatting is only supported for clusters in "
    "KRaft mode."
)
_LOG_DIR_DEFAULT: Final = "/tmp/kafka-logs"  # noqa: S108 - Kafka's default of log.dir


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatOptions:
    """What the command line says; None, empty or False where it says nothing."""

    cluster_id: str | None
    config: Path | None
    ignore_formatted: bool
    release_version: str | None
    metadata_version: str | None
    features: tuple[str, ...]
    standalone: bool
    initial_controllers: str | None
    no_initial_controllers: bool
    scram: tuple[str, ...]


def answer_format(options: FormatOptions, release: str | None, leftovers: list[str], *, json: bool) -> None:
    """Format the log directories of one node, as the tool of a release does."""
    tool = storage_tool(release)
    refuse_leftovers(tool, "format", leftovers)
    cluster_id, config = _required(tool, options)
    properties = _read_properties(config)
    output = choose_output(json=json)
    try:
        request = format_request(tool, options, cluster_id, properties)
        formatted = format_storage(request, PosixDisk(), random.SystemRandom(), time.time_ns() // 1_000_000)
    except FormatterError as error:
        output.show_before_failure(Said(error.said))
        raise CommandFailedError(str(error)) from error
    output.show(FormattedResult(formatted))


def answer_info(config: Path | None, release: str | None, leftovers: list[str], *, json: bool) -> StorageInfo:
    """Tell what is in the log directories of one node; the answer has problems where the command should fail."""
    tool = storage_tool(release)
    refuse_leftovers(tool, "info", leftovers)
    if config is None:
        raise tool.usage_error("info", _CONFIG_REQUIRED)
    info = info_of(tool, _read_properties(config), PosixDisk())
    choose_output(json=json).show(info)
    return info


def format_request(
    tool: KafkaTool, options: FormatOptions, cluster_id: str, properties: Mapping[str, str]
) -> FormatRequest:
    """Give what is to be formatted. Raises CommandFailedError in the words of the tool."""
    if not properties.get("process.roles"):
        raise CommandFailedError(_LEGACY if tool.release.has_zookeeper else _MISSING_ROLES)
    return _format_request(options, cluster_id, _node_config(properties, tool.release))


def info_of(tool: KafkaTool, properties: Mapping[str, str], disk: Disk) -> StorageInfo:
    """Look at the directories that a configuration names. Raises CommandFailedError in the words of the tool."""
    is_kraft = bool(properties.get("process.roles"))
    if is_kraft:
        node = _node_config(properties, tool.release)
        directories: tuple[str, ...] = (*node.log_dirs, node.metadata_log_dir)
    elif tool.release.has_zookeeper:
        directories = _legacy_directories(properties)
    else:
        raise CommandFailedError(_MISSING_ROLES)
    return storage_info(disk, directories, is_kraft=is_kraft)


_CONFIG_REQUIRED: Final = "argument --config/-c is required"
_MISSING_ROLES: Final = 'Missing required configuration "process.roles" which has no default value.'


@dataclass(frozen=True, slots=True)
class Said:
    """Lines of a tool that failed."""

    lines: tuple[str, ...]

    def text(self) -> Iterator[str]:
        """Give them."""
        yield from self.lines

    def document(self) -> object:
        """Give them as a list."""
        return list(self.lines)


@dataclass(frozen=True, slots=True)
class FormattedResult:
    """What was formatted."""

    formatted: FormattedStorage

    def text(self) -> Iterator[str]:
        """Give the lines of Kafka's tool."""
        yield from self.formatted.lines

    def document(self) -> object:
        """Give the levels of the new cluster, and the directories that were formatted."""
        version = self.formatted.metadata_version
        return {
            "metadata_version": {"level": version.level, "name": version.name},
            "features": dict(self.formatted.features),
            "directories": [{"path": path, "type": kind.value} for path, kind in self.formatted.directories.items()],
            "unreadable": list(self.formatted.warnings),
        }


def _required(tool: KafkaTool, options: FormatOptions) -> tuple[str, Path]:
    """Give cluster id and configuration, once the command line as a whole is one that the tool takes."""
    _refuse_empty(tool, options)
    _refuse_options(tool, options)
    if options.cluster_id is None:
        raise tool.usage_error("format", "argument --cluster-id/-t is required")
    if options.config is None:
        raise tool.usage_error("format", _CONFIG_REQUIRED)
    return options.cluster_id, options.config


def _refuse_empty(tool: KafkaTool, options: FormatOptions) -> None:
    values = {
        "--cluster-id/-t": options.cluster_id,
        "--release-version/-r": options.release_version,
        "--initial-controllers/-I": options.initial_controllers,
    }
    for name, value in values.items():
        if value == "":
            raise tool.usage_error("format", f"argument {name}: expected one argument")


def _refuse_options(tool: KafkaTool, options: FormatOptions) -> None:
    """Refuse what the release's tool does not know, and voters named in two ways."""
    rules = format_rules(tool.release)
    voters = {
        "--standalone/-s": options.standalone,
        "--no-initial-controllers/-N": options.no_initial_controllers,
        "--initial-controllers/-I": options.initial_controllers is not None,
    }
    given = [name for name, is_given in voters.items() if is_given]
    unknown = [] if rules.has_dynamic_voters else given
    if options.features and not rules.has_feature_option:
        unknown.append("--feature/-f")
    if options.metadata_version is not None and (tool.is_chosen or options.release_version is not None):
        unknown.append("--metadata-version")
    if unknown:
        raise tool.usage_error("format", f"unrecognized arguments: '{unknown[0].partition('/')[0]}'")
    if len(given) > 1:
        raise tool.usage_error("format", f"argument {given[1]}: not allowed with argument {given[0]}")


def _read_properties(path: Path) -> Mapping[str, str]:
    try:
        return parse_properties(path.read_bytes(), file=str(path)).as_dict()
    except CorruptFileError as error:
        raise CommandFailedError(str(error)) from error


def _node_config(properties: Mapping[str, str], release: Release) -> NodeConfig:
    try:
        # A listener without a host: voters reach it as localhost, as the tools have it.
        return read_server_properties(properties, release, hostname="localhost").config
    except ConfigError as error:
        raise CommandFailedError(str(error)) from error


def _format_request(options: FormatOptions, cluster_id: str, node: NodeConfig) -> FormatRequest:
    controllers = [listener.advertised for listener in node.listeners if listener.is_controller]
    return FormatRequest(
        release=node.release,
        cluster_id=cluster_id,
        node_id=node.node_id,
        log_dirs=node.log_dirs,
        metadata_log_dir=node.metadata_log_dir,
        is_controller=node.is_controller,
        controller_listener_name=node.controller_listener_names[0],
        controller_endpoint=controllers[0] if controllers else None,
        has_static_voters=node.quorum_voters is not None,
        is_unstable_enabled=node.unstable_feature_versions_enable,
        inter_broker_protocol=node.properties.get("inter.broker.protocol.version"),
        ignore_formatted=options.ignore_formatted,
        release_version=options.release_version or options.metadata_version,
        features=options.features,
        standalone=options.standalone,
        initial_controllers=options.initial_controllers,
        no_initial_controllers=options.no_initial_controllers,
        scram=options.scram,
    )


def _legacy_directories(properties: Mapping[str, str]) -> tuple[str, ...]:
    named = properties.get("log.dirs") or properties.get("log.dir") or _LOG_DIR_DEFAULT
    directories: Sequence[str] = [name.strip() for name in named.split(",") if name.strip()]
    metadata = properties.get("metadata.log.dir")
    return (*directories, *([metadata] if metadata else []))
