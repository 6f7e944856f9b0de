"""Kafka's own command line tools, where falkirk answers in their place: which release does what, and in which words."""

from __future__ import annotations

from dataclasses import dataclass
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
        lines = _USAGES[self.tool, command]
        if command != "format":
            return lines
        rules = format_rules(self.release)
        if rules.has_dynamic_voters:
            return (*lines, *_VOTERS_USAGE)
        return (*lines, "[--feature FEATURE]") if rules.has_feature_option else lines


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
    if wording is None:
        raise CommandFailedError(f"the {tool.value} of Kafka {parsed} has no {command}: it came with 4.0")
    return KafkaTool(tool, parsed, wording, is_chosen=release is not None)


def storage_tool(release: str | None) -> KafkaTool:
    """Give the kafka-storage of a release (None: of the newest), to format directories and to look at them.

    Raises UnknownReleaseError; IncompleteReleaseError for releases before 3.7.
    """
    parsed = latest_release() if release is None else Release.parse(release)
    # What a release without these tables formats is not known.
    _ = parsed.kraft
    return KafkaTool(Tool.STORAGE, parsed, _WORDINGS.get(parsed.word, Wording()), is_chosen=release is not None)


def refuse_leftovers(tool: KafkaTool, command: str, leftovers: list[str]) -> None:
    """Refuse a command line that has too much. An unknown option is named alone, a word with all that follows it."""
    if leftovers:
        shown = leftovers[0] if leftovers[0].startswith("-") else " ".join(leftovers)
        raise tool.usage_error(command, f"unrecognized arguments: '{shown}'")


_WORDINGS: Final = {
    "4.0": Wording(lists_metadata_versions=False, one_line_usage_errors=False, strips_features=False),
    "4.1": Wording(lists_metadata_versions=False, one_line_usage_errors=False, strips_features=False),
    "4.2": Wording(one_line_usage_errors=False),
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
_VOTERS_USAGE: Final = (
    "[--feature FEATURE] [--standalone |",
    "--no-initial-controllers |",
    "--initial-controllers INITIAL_CONTROLLERS]",
)
