"""Options that several commands share."""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
AnswerAsReleaseOption = Annotated[
    str | None,
    typer.Option(
        "--release",
        metavar="RELEASE",
        help="Answer as the tool of this Kafka release does, its exit status for wrong usage included "
        "(4.0.0 and later; default: the newest that falkirk knows).",
    ),
]
ReleaseVersionOption = Annotated[
    str | None,
    typer.Option(
        "--release-version",
        "-r",
        metavar="VERSION",
        help="A metadata.version (4.0-IV1) or a release (4.0); default: the latest production one.",
    ),
]
FeatureOption = Annotated[
    list[str] | None,
    typer.Option("--feature", "-f", metavar="FEATURE=LEVEL", help="The feature level to look up; may be repeated."),
]
BootstrapServerOption = Annotated[
    str | None, typer.Option("--bootstrap-server", metavar="HOST:PORT,...", help="Brokers to connect to.")
]
BootstrapControllerOption = Annotated[
    str | None, typer.Option("--bootstrap-controller", metavar="HOST:PORT,...", help="Controllers to connect to.")
]
CommandConfigOption = Annotated[
    str | None, typer.Option("--command-config", metavar="FILE", help="Properties of the connection.")
]

# For commands that refuse what is too much themselves, from `context.args`, in the words of Kafka's tools. As there, an
# unknown option is taken for a word, and nothing after the first word is an option.
REFUSES_LEFTOVERS: Final = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOptions:
    """The connection options of a group or of a command."""

    bootstrap_server: str | None
    bootstrap_controller: str | None
    command_config: str | None
