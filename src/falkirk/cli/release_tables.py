"""`version-mapping` and `feature-dependencies`, which `falkirk features` and `falkirk storage` have in common."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.cli.console.failure import CommandFailedError
from falkirk.cli.console.kafka_tool import mapping_tool
from falkirk.cli.console.output import choose_output
from falkirk.operations.release_tables import level_dependencies, version_mapping
from falkirk.versions.errors import VersionsError
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.operations.release_tables import LevelDependencies, VersionMapping
    from falkirk.versions.release import Release

# What Java reads as a short: a sign and leading zeros are fine.
_SHORT: Final = re.compile(r"[+-]?[0-9]+")
_SHORT_MIN, _SHORT_MAX = -(1 << 15), (1 << 15) - 1


@dataclass(frozen=True, slots=True)
class MappingView:
    """A `Result`. `requested`: the metadata.version or release as it was given."""

    mapping: VersionMapping
    requested: str

    def text(self) -> Iterator[str]:
        """Yield a line for each feature."""
        yield f"{METADATA_VERSION}={self.mapping.metadata_version.level} ({self.requested})"
        for name, level in self.mapping.features.items():
            yield f"{name}={level}"

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the levels by feature."""
        version = self.mapping.metadata_version
        return {
            "release": self.mapping.release.name,
            "metadata_version": {"level": version.level, "name": version.name},
            "features": dict(self.mapping.features),
        }


@dataclass(frozen=True, slots=True)
class DependenciesView:
    """A `Result`: what levels need, in the order in which they were given."""

    release: Release
    found: Sequence[LevelDependencies]

    def text(self) -> Iterator[str]:
        """Yield a line for a level that needs nothing, else one for each feature that it needs, too."""
        for each in self.found:
            level = self._named(each.feature, each.level)
            if not each.requires:
                yield f"{level} has no dependencies."
                continue
            yield f"{level} requires:"
            for name, least in each.requires.items():
                yield f"    {self._named(name, least)}"

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the required levels by feature."""
        features = [
            {"feature": each.feature, "level": each.level, "requires": dict(each.requires)} for each in self.found
        ]
        return {"release": self.release.name, "features": features}

    def _named(self, name: str, level: int) -> str:
        named = f"{name}={level}"
        return f"{named} ({self.release.metadata_version(level)})" if name == METADATA_VERSION else named


def show_version_mapping(release: str | None, release_version: str | None, leftovers: list[str], *, json: bool) -> None:
    """Print the feature levels that belong to a metadata.version."""
    tool = mapping_tool(release, "version-mapping")
    tool.refuse_leftovers(leftovers)
    mapping = version_mapping(tool.release, release_version)
    choose_output(json=json).show(MappingView(mapping, release_version or mapping.metadata_version.name))


def show_feature_dependencies(
    release: str | None, features: Sequence[str] | None, leftovers: list[str], *, json: bool
) -> None:
    """Print what feature levels need, up to the first that the release does not know."""
    tool = mapping_tool(release, "feature-dependencies")
    tool.refuse_leftovers(leftovers)
    if not features:
        raise tool.usage_error("name a level with --feature")
    output = choose_output(json=json)
    found: list[LevelDependencies] = []
    view = DependenciesView(tool.release, found)
    try:
        found.extend(level_dependencies(tool.release, *parse_feature_level(feature)) for feature in features)
    except (CommandFailedError, VersionsError):
        output.show_before_failure(view)
        raise
    output.show(view)


def parse_feature_level(text: str) -> tuple[str, int]:
    """Parse `name=level`. Raises CommandFailedError."""
    name, equals, level = (part.strip() for part in text.partition("="))
    if not equals or not _SHORT.fullmatch(level) or not _SHORT_MIN <= int(level) <= _SHORT_MAX:
        raise CommandFailedError(f"--feature: '{text}' is not FEATURE=LEVEL")
    return name, int(level)
