"""`falkirk storage`: as kafka-storage."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path  # Typer reads the annotations when it builds a command
from typing import TYPE_CHECKING, Annotated

import typer

from falkirk.cli.console.exit_code import ExitCode
from falkirk.cli.console.options import (  # Typer reads the annotations when it builds a command
    REFUSES_LEFTOVERS,
    AnswerAsReleaseOption,
    FeatureOption,
    JsonOption,
    ReleaseVersionOption,
)
from falkirk.cli.console.output import choose_output
from falkirk.cli.release_tables import show_feature_dependencies, show_version_mapping

if TYPE_CHECKING:
    from collections.abc import Iterator

ClusterIdOption = Annotated[
    str | None, typer.Option("--cluster-id", "-t", metavar="ID", help="The cluster's id, as random-uuid makes one.")
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", "-c", metavar="FILE", help="The node's server.properties.")
]
IgnoreFormattedOption = Annotated[
    bool,
    typer.Option("--ignore-formatted", "-g", help="Leave directories alone that are formatted, and format the others."),
]
MetadataVersionOption = Annotated[
    str | None,
    typer.Option("--metadata-version", "-m", metavar="VERSION", help="The older name of --release-version."),
]
InitialFeatureOption = Annotated[
    list[str] | None,
    typer.Option("--feature", "-f", metavar="FEATURE=LEVEL", help="A level to start with; may be repeated."),
]
StandaloneOption = Annotated[
    bool, typer.Option("--standalone", "-s", help="Make this controller the one voter of a dynamic quorum.")
]
InitialControllersOption = Annotated[
    str | None,
    typer.Option(
        "--initial-controllers",
        "-I",
        metavar="ID@HOST:PORT:DIRECTORY,...",
        help="The first voters of a dynamic quorum, the same on all nodes; DIRECTORY as random-uuid makes one.",
    ),
]
NoInitialControllersOption = Annotated[
    bool, typer.Option("--no-initial-controllers", "-N", help="This node will join a dynamic quorum that is there.")
]
AddScramOption = Annotated[
    list[str] | None,
    typer.Option(
        "--add-scram",
        "-S",
        metavar="CREDENTIAL",
        help="A user that is there from the start, as 'SCRAM-SHA-256=[name=alice,password=alice-secret]'; "
        "may be repeated.",
    ),
]
FormatAsReleaseOption = Annotated[
    str | None,
    typer.Option(
        "--release",
        metavar="RELEASE",
        help="Write and answer as the tool of this Kafka release does, its exit status for wrong usage included "
        "(3.7 and later; default: the newest that falkirk knows).",
    ),
]

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.command("format", context_settings=REFUSES_LEFTOVERS)
def format_command(
    context: typer.Context,
    *,
    cluster_id: ClusterIdOption = None,
    config: ConfigOption = None,
    ignore_formatted: IgnoreFormattedOption = False,
    release_version: ReleaseVersionOption = None,
    metadata_version: MetadataVersionOption = None,
    feature: InitialFeatureOption = None,
    standalone: StandaloneOption = False,
    initial_controllers: InitialControllersOption = None,
    no_initial_controllers: NoInitialControllersOption = False,
    add_scram: AddScramOption = None,
    release: FormatAsReleaseOption = None,
    json: JsonOption = False,
) -> None:
    """Format the log directories of one node.

    Writes meta.properties and the first records of the cluster into each, as the tool of the release does. A directory
    that is formatted already is refused, or left as it is with --ignore-formatted.
    """
    from falkirk.cli.storage.actions import FormatArguments, format_node  # noqa: PLC0415 - for this command only

    arguments = FormatArguments(
        cluster_id=cluster_id,
        config=config,
        ignore_formatted=ignore_formatted,
        release_version=release_version,
        metadata_version=metadata_version,
        features=tuple(feature or ()),
        standalone=standalone,
        initial_controllers=initial_controllers,
        no_initial_controllers=no_initial_controllers,
        scram=tuple(add_scram or ()),
    )
    format_node(arguments, release, context.args, json=json)


@app.command("info", context_settings=REFUSES_LEFTOVERS)
def info_command(
    context: typer.Context,
    *,
    config: ConfigOption = None,
    release: FormatAsReleaseOption = None,
    json: JsonOption = False,
) -> None:
    """Print what is in the log directories of one node.

    The exit status is 1 if anything is wrong with them.
    """
    from falkirk.cli.storage.actions import show_info  # noqa: PLC0415 - for this command only

    if show_info(config, release, context.args, json=json).problems:
        raise typer.Exit(ExitCode.FAILED)


@app.command("version-mapping", context_settings=REFUSES_LEFTOVERS)
def version_mapping(
    context: typer.Context,
    *,
    release_version: ReleaseVersionOption = None,
    release: AnswerAsReleaseOption = None,
    json: JsonOption = False,
) -> None:
    """Print a new cluster's feature levels.

    They depend on the metadata.version at which the cluster is formatted.
    """
    show_version_mapping(release, release_version, context.args, json=json)


@app.command("feature-dependencies", context_settings=REFUSES_LEFTOVERS)
def feature_dependencies(
    context: typer.Context,
    *,
    feature: FeatureOption = None,
    release: AnswerAsReleaseOption = None,
    json: JsonOption = False,
) -> None:
    """Print what other features a level needs.

    Several levels are looked up in order, up to the first that does not exist.
    """
    show_feature_dependencies(release, feature, context.args, json=json)


@app.command("random-uuid")
def random_uuid(*, json: JsonOption = False) -> None:
    """Print a random id for a cluster or log dir."""
    choose_output(json=json).show(RandomUuid(_random_uuid()))


@dataclass(frozen=True, slots=True)
class RandomUuid:
    """A `Result`: a UUID as Kafka writes one."""

    uuid: str

    def text(self) -> Iterator[str]:
        """Yield the UUID."""
        yield self.uuid

    def document(self) -> object:
        """Return the UUID by name."""
        return {"uuid": self.uuid}


def _random_uuid() -> str:
    """Return one that is not reserved, and does not look like an option on a command line."""
    import base64  # noqa: PLC0415 - for this command only, and it starts slowly
    import uuid  # noqa: PLC0415 - same

    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode("ascii")
        # The reserved ids (all zeros but the last byte) are no version 4 UUIDs, so none of them can come up.
        if not text.startswith("-"):
            return text
