"""kafka-features and kafka-storage, for which falkirk's commands stand: what the tools of each release can do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from falkirk.cli.console.exit_code import ExitCode
from falkirk.cli.console.failure import CommandFailedError
from falkirk.versions.release import Release, latest_release


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolForm:
    """What the tools of one release can do."""

    # version-mapping and feature-dependencies; kafka-features takes --release-version, and --metadata is deprecated.
    maps_versions: bool = True
    # kafka-features can ask one node for its features.
    asks_one_node: bool = True
    # kafka-features describes features in columns, else with tabs between them.
    describes_in_columns: bool = True


_4_3: Final = ToolForm()
_4_2: Final = replace(_4_3, describes_in_columns=False)
_4_0: Final = replace(_4_2, asks_one_node=False)
_3_7: Final = replace(_4_0, maps_versions=False)
_FORMS: Final = {
    "3.7": _3_7,
    "3.8": _3_7,
    "3.9": _3_7,
    "4.0": _4_0,
    "4.1": _4_0,
    "4.2": _4_2,
    "4.3": _4_3,
    # No kafka-features was published for 4.4.
    "4.4": _4_3,
}


@dataclass(frozen=True, slots=True)
class KafkaTool:
    """The tools of one release. `is_chosen`: the release was named; then wrong usage has the tools' exit status."""

    release: Release
    form: ToolForm
    is_chosen: bool

    def usage_error(self, message: str) -> CommandFailedError:
        """Return the error of a wrong command line.

        Differs from Kafka: the exit status is 2, as everywhere in falkirk, unless `--release` names a release; Kafka's
        tools exit with 1.
        """
        error = CommandFailedError(message)
        error.exit_code = ExitCode.FAILED if self.is_chosen else ExitCode.WRONG_USAGE
        return error

    def refuse_leftovers(self, leftovers: list[str]) -> None:
        """Raise a usage error if there are arguments left that no option takes."""
        if leftovers:
            raise self.usage_error(f"unexpected argument: {leftovers[0]}")


def kafka_tool(release: str | None) -> KafkaTool:
    """Return the tools of a release (None: of the newest). Raises UnknownReleaseError; IncompleteReleaseError."""
    parsed = latest_release() if release is None else Release.parse(release)
    # Raises for a release whose metadata.versions are not in the tables.
    _ = parsed.kraft
    return KafkaTool(parsed, _FORMS[parsed.word], is_chosen=release is not None)


def mapping_tool(release: str | None, command: str) -> KafkaTool:
    """Return the same for a command of KIP-1022. Raises CommandFailedError if the release's tools do not have it."""
    parsed = latest_release() if release is None else Release.parse(release)
    form = _FORMS.get(parsed.word)
    if form is None or not form.maps_versions:
        raise CommandFailedError(f"Kafka {parsed} has no {command}: it came with 4.0")
    return KafkaTool(parsed, form, is_chosen=release is not None)
