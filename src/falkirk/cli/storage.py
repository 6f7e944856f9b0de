"""`falkirk storage`: what kafka-storage does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from falkirk.cli.kafka_tool import Tool
from falkirk.cli.options import (  # Typer reads the annotations when it builds a command
    REFUSES_LEFTOVERS,
    AnswerAsReleaseOption,
    FeatureOption,
    JsonOption,
    ReleaseVersionOption,
)
from falkirk.cli.output import choose_output
from falkirk.cli.version_questions import answer_feature_dependencies, answer_version_mapping

if TYPE_CHECKING:
    from collections.abc import Iterator

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


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
    answer_version_mapping(Tool.STORAGE, release, release_version, context.args, json=json)


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
    answer_feature_dependencies(Tool.STORAGE, release, feature, context.args, json=json)


@app.command("random-uuid")
def random_uuid(*, json: JsonOption = False) -> None:
    """Print a random id for a cluster or log dir."""
    choose_output(json=json).show(RandomUuid(_random_uuid()))


@dataclass(frozen=True, slots=True)
class RandomUuid:
    """A UUID as Kafka writes one."""

    uuid: str

    def text(self) -> Iterator[str]:
        """Give it alone on its line."""
        yield self.uuid

    def document(self) -> object:
        """Give it by name."""
        return {"uuid": self.uuid}


def _random_uuid() -> str:
    """Make one that is no reserved id and does not look like an option where it stands on a command line."""
    import base64  # noqa: PLC0415 - for this command only, and it starts slowly
    import uuid  # noqa: PLC0415 - same

    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode("ascii")
        # The reserved ids (all zeros but the last byte) are no version 4 UUIDs, so none of them can come up.
        if not text.startswith("-"):
            return text
