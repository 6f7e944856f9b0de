"""The two commands that kafka-features and kafka-storage have in common: version-mapping and feature-dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.cli.feature_dependencies import feature_dependencies
from falkirk.cli.kafka_tool import Tool, kafka_tool, refuse_leftovers
from falkirk.cli.output import choose_output
from falkirk.cli.version_mapping import version_mapping

if TYPE_CHECKING:
    from collections.abc import Sequence


def answer_version_mapping(
    tool: Tool, release: str | None, release_version: str | None, leftovers: list[str], *, json: bool
) -> None:
    """Print the feature levels that belong to a metadata.version, as the tool of a release does."""
    kafka = kafka_tool(tool, release, "version-mapping")
    refuse_leftovers(kafka, "version-mapping", leftovers)
    choose_output(json=json).show(version_mapping(kafka, release_version))


def answer_feature_dependencies(
    tool: Tool, release: str | None, features: Sequence[str] | None, leftovers: list[str], *, json: bool
) -> None:
    """Print what feature levels need, as the tool of a release does: in order, up to the first that is unknown."""
    command = "feature-dependencies"
    kafka = kafka_tool(tool, release, command)
    refuse_leftovers(kafka, command, leftovers)
    if not features:
        option = "--feature" if tool is Tool.FEATURES else "--feature/-f"
        raise kafka.usage_error(command, f"argument {option} is required")
    found = feature_dependencies(kafka, features)
    output = choose_output(json=json)
    if found.failure is not None:
        output.show_before_failure(found)
        raise found.failure
    output.show(found)
