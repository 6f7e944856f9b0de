"""Kafka's own command line tools, where falkirk answers in their place: which release does what, and in which words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from falkirk.cli.exit_code import ExitCode
from falkirk.cli.failure import CommandFailedError
from falkirk.cli.justified_text import justify
from falkirk.storage.formatting.rules import format_rules
from falkirk.versions.release import Release, latest_release


class Tool(Enum):
    """A tool, by the name in its messages."""

    FEATURES = "kafka-features"
    STORAGE = "kafka-storage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """How the tools of one release word their refusals."""

    # Names every metadata.version where it does not know one, else only the first and the last.
    lists_metadata_versions: bool = True
    # kafka-features says in one line what is wrong with a command line, else it prints the usage before it.
    one_line_usage_errors: bool = True
    # kafka-storage takes blanks around a feature's name and level as nothing.
    strips_features: bool = True
    # kafka-features maps versions and features, has --release-version, and calls --metadata deprecated.
    maps_versions: bool = True
    # kafka-features can ask one node for its features.
    asks_one_node: bool = True
    # kafka-features describes features in columns, else with tabs between them.
    describes_in_columns: bool = True
    # What kafka-features says where no server is named.
    no_servers: str = "You must specify either --bootstrap-controller or --bootstrap-server."
    # What kafka-features says of a metadata.version that it does not know; {} are that and those that it knows.
    unknown_metadata_version: str = "Unknown metadata.version '{}'. Supported metadata.version are: {}"
    # What Kafka's client says of an upgrade to level 0.
    level_zero: str = (
        "The upgradeType flag should be set to SAFE_DOWNGRADE or UNSAFE_DOWNGRADE when the provided "
        "maxVersionLevel:0 is < 1."
    )


@dataclass(frozen=True, slots=True)
class KafkaTool:
    """One tool of one release."""

    tool: Tool
    release: Release
    wording: Wording
    # The release was asked for by name: then the exit status is the tool's as well.
    is_chosen: bool

    def usage_error(self, command: str, what: str) -> CommandFailedError:
        """Give the refusal of a command line.

        Differs from Kafka: the exit status is 2, as everywhere in falkirk, unless `--release` asked for the tool of a
        release; Kafka's tools exit with 1.
        """
        return KafkaUsageError(self._usage_message(command, what), is_chosen=self.is_chosen)

    def _usage_message(self, command: str, what: str) -> str:
        if self.tool is Tool.FEATURES and self.wording.one_line_usage_errors:
            return f"Command line error: {what}. Type --help for help."
        start = f"usage: {self.tool.value} "
        margin = "\n" + " " * len(start)
        usage = start + margin.join(self._usage_lines(command))
        return usage + "\n" + justify(f"{self.tool.value}: error: {what}")

    def _usage_lines(self, command: str) -> tuple[str, ...]:
        if self.tool is Tool.FEATURES and command in _FEATURES_USAGES:
            return self._features_usage_lines(command)
        lines = _USAGES[self.tool, command]
        if command != "format":
            return lines
        rules = format_rules(self.release)
        if rules.has_dynamic_voters:
            return (*lines, *_VOTERS_USAGE)
        return (*lines, "[--feature FEATURE]") if rules.has_feature_option else lines

    def _features_usage_lines(self, command: str) -> tuple[str, ...]:
        """Give the usage of a command that asks a cluster; "" is the tool itself."""
        if not command:
            commands = _COMMANDS if self.wording.maps_versions else _COMMANDS_BEFORE_MAPPINGS
            return ("[-h] [--command-config COMMAND_CONFIG]", *_CONNECTION, *commands)
        old, new = _FEATURES_USAGES[command]
        has_new = self.wording.asks_one_node if command == "describe" else self.wording.maps_versions
        first, connection = _CONNECTION
        begins, *rest = new if has_new else old
        # The name of the command stands beside the connection if there is room for it.
        return (first, f"{connection} {begins}", *rest) if begins.isalpha() else (*_CONNECTION, begins, *rest)


class KafkaUsageError(CommandFailedError):
    """A command line that Kafka's tool would refuse, in its words."""

    def __init__(self, message: str, *, is_chosen: bool) -> None:
        super().__init__(message)
        self.exit_code = ExitCode.FAILED if is_chosen else ExitCode.WRONG_USAGE


def kafka_tool(tool: Tool, release: str | None, command: str) -> KafkaTool:
    """Give the tool of a release (None: of the newest), to run a command that maps versions or features.

    Raises UnknownReleaseError; CommandFailedError if that release's tool has no such command (KIP-1022 brought them).
    """
    parsed = latest_release() if release is None else Release.parse(release)
    wording = _WORDINGS.get(parsed.word)
    if wording is None or not wording.maps_versions:
        raise CommandFailedError(f"the {tool.value} of Kafka {parsed} has no {command}: it came with 4.0")
    return KafkaTool(tool, parsed, wording, is_chosen=release is not None)


def features_tool(release: str | None) -> KafkaTool:
    """Give the kafka-features of a release (None: of the newest), to describe and change a cluster's features.

    Raises UnknownReleaseError; IncompleteReleaseError for releases before 3.7.
    """
    return _kraft_tool(Tool.FEATURES, release)


def storage_tool(release: str | None) -> KafkaTool:
    """Give the kafka-storage of a release (None: of the newest), to format directories and to look at them.

    Raises UnknownReleaseError; IncompleteReleaseError for releases before 3.7.
    """
    return _kraft_tool(Tool.STORAGE, release)


def refuse_leftovers(tool: KafkaTool, command: str, leftovers: list[str]) -> None:
    """Refuse a command line that has too much. An unknown option is named alone, a word with all that follows it."""
    if leftovers:
        shown = leftovers[0] if leftovers[0].startswith("-") else " ".join(leftovers)
        raise tool.usage_error(command, f"unrecognized arguments: '{shown}'")


def _kraft_tool(tool: Tool, release: str | None) -> KafkaTool:
    parsed = latest_release() if release is None else Release.parse(release)
    # What a release without these tables formats, and which levels it knows, is not known.
    _ = parsed.kraft
    return KafkaTool(tool, parsed, _WORDINGS[parsed.word], is_chosen=release is not None)


_NO_SERVERS: Final = "one of the arguments --bootstrap-server --bootstrap-controller is required"
# Until 3.8 without mappings, and with other words.
_3_7: Final = Wording(
    one_line_usage_errors=False,
    maps_versions=False,
    asks_one_node=False,
    no_servers=_NO_SERVERS,
    describes_in_columns=False,
    unknown_metadata_version="Unsupported metadata version {}. Supported metadata versions are {}",
    level_zero="The downgradeType flag should be set to SAFE or UNSAFE when the provided maxVersionLevel:0 is < 1.",
)
_4_0: Final = Wording(
    lists_metadata_versions=False,
    one_line_usage_errors=False,
    strips_features=False,
    asks_one_node=False,
    no_servers=_NO_SERVERS,
    describes_in_columns=False,
    unknown_metadata_version="Unknown metadata.version {}. Supported metadata.version are {}",
)
_WORDINGS: Final = {
    "3.7": _3_7,
    "3.8": _3_7,
    "3.9": replace(
        _3_7,
        unknown_metadata_version="Unsupported metadata.version {}. Supported metadata.version are {}",
        level_zero=Wording().level_zero,
    ),
    "4.0": _4_0,
    "4.1": _4_0,
    "4.2": Wording(one_line_usage_errors=False, no_servers=_NO_SERVERS, describes_in_columns=False),
    "4.3": Wording(),
    # No kafka-features was published for 4.4; its kafka-storage is worded as that of 4.3.
    "4.4": Wording(),
}

_CONNECTION: Final = ("(--bootstrap-server BOOTSTRAP_SERVER |", "--bootstrap-controller BOOTSTRAP_CONTROLLER)")
# The usage of a command, as the tool breaks it into lines.
_USAGES: Final = {
    (Tool.FEATURES, "version-mapping"): (*_CONNECTION, "version-mapping [-h]", "[--release-version RELEASE_VERSION]"),
    (Tool.FEATURES, "feature-dependencies"): (*_CONNECTION, "feature-dependencies [-h] --feature FEATURE"),
    (Tool.STORAGE, "version-mapping"): ("version-mapping [-h]", "[--release-version RELEASE_VERSION]"),
    (Tool.STORAGE, "feature-dependencies"): ("feature-dependencies [-h] --feature FEATURE",),
    (Tool.STORAGE, "info"): ("info [-h] --config CONFIG",),
    (Tool.STORAGE, "format"): (
        "format [-h] --config CONFIG --cluster-id CLUSTER_ID",
        "[--add-scram ADD_SCRAM] [--ignore-formatted]",
        "[--release-version RELEASE_VERSION]",
    ),
}
_COMMANDS_BEFORE_MAPPINGS: Final[tuple[str, ...]] = ("{describe,upgrade,downgrade,disable} ...",)
_COMMANDS: Final[tuple[str, ...]] = (
    "{describe,upgrade,downgrade,disable,version-mapping,feature-dependencies}",
    "...",
)
# Of releases before and from the one that brought the command's newest option.
_FEATURES_USAGES: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "": ((), ()),
    "describe": (("describe", "[-h]"), ("describe", "[-h] [--node-id NODE_ID]")),
    "upgrade": (
        ("upgrade", "[-h] [--metadata METADATA] [--feature FEATURE]", "[--dry-run]"),
        (
            "upgrade",
            "[-h] [--metadata METADATA]",
            "[--release-version RELEASE_VERSION]",
            "[--feature FEATURE] [--dry-run]",
        ),
    ),
    "downgrade": (
        ("downgrade [-h] [--metadata METADATA]", "[--feature FEATURE] [--unsafe] [--dry-run]"),
        (
            "downgrade [-h] [--metadata METADATA]",
            "[--release-version RELEASE_VERSION]",
            "[--feature FEATURE] [--unsafe] [--dry-run]",
        ),
    ),
    "disable": (("disable", "[-h] [--feature FEATURE] [--unsafe] [--dry-run]"),) * 2,
}
_VOTERS_USAGE: Final = (
    "[--feature FEATURE] [--standalone |",
    "--no-initial-controllers |",
    "--initial-controllers INITIAL_CONTROLLERS]",
)
