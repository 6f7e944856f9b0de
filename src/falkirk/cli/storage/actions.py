"""`falkirk storage format` and `info`: check the command line, run the operation, print its result."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.cli.console.failure import CommandFailedError
from falkirk.cli.console.kafka_tool import kafka_tool
from falkirk.cli.console.output import choose_output
from falkirk.operations.storage_format import FormatOptions, format_request, inspect_storage
from falkirk.server.config_values import read_node_properties
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.formatting.errors import FormatterError
from falkirk.storage.formatting.formatter import format_storage
from falkirk.storage.formatting.rules import format_rules
from falkirk.storage.posix_disk import PosixDisk
from falkirk.versions.configs.definition import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from falkirk.cli.console.kafka_tool import KafkaTool
    from falkirk.storage.formatting.formatter import FormattedStorage
    from falkirk.storage.formatting.info import StorageInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatArguments:
    """The arguments of `format`; None, empty or False for those that are not given."""

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

    def checked(self, tool: KafkaTool) -> tuple[FormatOptions, Path]:
        """Return the options, and the configuration file. Raises CommandFailedError."""
        self._check_values(tool)
        self._check_options(tool)
        if self.cluster_id is None:
            raise tool.usage_error("name the cluster's id with --cluster-id")
        options = FormatOptions(
            cluster_id=self.cluster_id,
            ignore_formatted=self.ignore_formatted,
            release_version=self.release_version or self.metadata_version,
            features=self.features,
            standalone=self.standalone,
            initial_controllers=self.initial_controllers,
            no_initial_controllers=self.no_initial_controllers,
            scram=self.scram,
        )
        return options, _required_config(tool, self.config)

    def _check_values(self, tool: KafkaTool) -> None:
        values = {
            "--cluster-id": self.cluster_id,
            "--release-version": self.release_version,
            "--initial-controllers": self.initial_controllers,
        }
        for name, value in values.items():
            if value == "":
                raise tool.usage_error(f"{name} needs a value")

    def _check_options(self, tool: KafkaTool) -> None:
        """Refuse options that the release's tool does not know, and voters named in two ways."""
        rules = format_rules(tool.release)
        voters = {
            "--standalone": self.standalone,
            "--no-initial-controllers": self.no_initial_controllers,
            "--initial-controllers": self.initial_controllers is not None,
        }
        given = [name for name, is_given in voters.items() if is_given]
        unknown = [] if rules.has_dynamic_voters else given
        if self.features and not rules.has_feature_option:
            unknown.append("--feature")
        if self.metadata_version is not None and tool.is_chosen:
            unknown.append("--metadata-version")
        if unknown:
            raise tool.usage_error(f"the kafka-storage of Kafka {tool.release} has no {unknown[0]}")
        if self.metadata_version is not None and self.release_version is not None:
            raise tool.usage_error("--release-version and --metadata-version exclude each other")
        if len(given) > 1:
            raise tool.usage_error(f"{given[0]} and {given[1]} exclude each other")


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A `Result`: lines that were due before a failure."""

    lines: tuple[str, ...]

    def text(self) -> Iterator[str]:
        """Yield the lines."""
        yield from self.lines

    def document(self) -> object:
        """Return the lines as a list."""
        return list(self.lines)


@dataclass(frozen=True, slots=True)
class FormattedView:
    """A `Result`: what was formatted."""

    formatted: FormattedStorage

    def text(self) -> Iterator[str]:
        """Yield the lines of kafka-storage."""
        yield from self.formatted.lines

    def document(self) -> object:
        """Return the levels of the new cluster, and the directories that were formatted."""
        version = self.formatted.metadata_version
        return {
            "metadata_version": {"level": version.level, "name": version.name},
            "features": dict(self.formatted.features),
            "directories": [{"path": path, "type": kind.value} for path, kind in self.formatted.directories.items()],
            "unreadable": list(self.formatted.warnings),
        }


def format_node(arguments: FormatArguments, release: str | None, leftovers: list[str], *, json: bool) -> None:
    """Format the log directories of one node, as the tool of a release does."""
    tool = kafka_tool(release)
    tool.refuse_leftovers(leftovers)
    options, config = arguments.checked(tool)
    properties = _read_properties(config)
    output = choose_output(json=json)
    try:
        request = format_request(tool.release, properties, options)
        formatted = format_storage(request, PosixDisk(), random.SystemRandom(), time.time_ns() // 1_000_000)
    except FormatterError as error:
        output.show_before_failure(ToolOutput(error.notices))
        raise CommandFailedError(str(error)) from error
    output.show(FormattedView(formatted))


def show_info(config: Path | None, release: str | None, leftovers: list[str], *, json: bool) -> StorageInfo:
    """Print what is in the log directories of one node."""
    tool = kafka_tool(release)
    tool.refuse_leftovers(leftovers)
    info = inspect_storage(tool.release, _read_properties(_required_config(tool, config)), PosixDisk())
    choose_output(json=json).show(info)
    return info


def _required_config(tool: KafkaTool, config: Path | None) -> Path:
    if config is None:
        raise tool.usage_error("name the node's server.properties with --config")
    return config


def _read_properties(path: Path) -> Mapping[str, str]:
    try:
        return read_node_properties(path)
    except CorruptFileError as error:
        raise CommandFailedError(str(error)) from error
    except ConfigError as config_error:
        raise CommandFailedError(f"{path}: {config_error}") from config_error
