"""feature-dependencies: what other features a feature level needs (KIP-1022)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.cli.failure import CommandFailedError
from falkirk.cli.kafka_tool import KafkaTool, Tool
from falkirk.versions.errors import UnknownFeatureError, UnknownFeatureLevelError, UnknownMetadataVersionError
from falkirk.versions.metadata_version import METADATA_VERSION, FeatureLevel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from falkirk.versions.release import Release

# What Java reads as a short: a sign and leading zeros are fine, blanks are not.
_SHORT: Final = re.compile(r"[+-]?[0-9]+")
_SHORT_MIN, _SHORT_MAX = -(1 << 15), (1 << 15) - 1
# What Java's trim takes away at both ends.
_BLANKS: Final = "".join(map(chr, range(0x21)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelDependencies:
    """One feature level and the least levels of others that it needs."""

    feature: str
    level: FeatureLevel
    # The names of the metadata.versions among `feature` and `requires`, by level.
    metadata_version_names: Mapping[int, str]
    requires: Mapping[str, FeatureLevel]

    def text(self) -> Iterator[str]:
        """Give the lines as Kafka's tools print them."""
        said = self._said(self.feature, self.level)
        if not self.requires:
            yield f"{said} has no dependencies."
            return
        yield f"{said} requires:"
        for name, level in self.requires.items():
            yield f"    {self._said(name, level)}"

    def document(self) -> object:
        """Give the levels by feature."""
        return {"feature": self.feature, "level": self.level, "requires": dict(self.requires)}

    def _said(self, name: str, level: int) -> str:
        if name != METADATA_VERSION:
            return f"{name}={level}"
        return f"{name}={level} ({self.metadata_version_names[level]})"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureDependencies:
    """What was asked for, in order; `failure` is what ended it early."""

    release: str
    found: tuple[LevelDependencies, ...]
    failure: CommandFailedError | None

    def text(self) -> Iterator[str]:
        """Give the lines as Kafka's tools print them."""
        for dependencies in self.found:
            yield from dependencies.text()

    def document(self) -> object:
        """Give a list, in the order in which it was asked."""
        return {"release": self.release, "features": [dependencies.document() for dependencies in self.found]}


def feature_dependencies(tool: KafkaTool, features: Sequence[str]) -> FeatureDependencies:
    """Look up each `name=level`, up to the first that cannot be; the failure stands in the result."""
    found: list[LevelDependencies] = []
    failure = None
    try:
        for feature in features:
            name, level = parse_feature_level(tool, feature)
            found.append(_dependencies(tool, name, level))
    except CommandFailedError as refused:
        failure = refused
    return FeatureDependencies(release=tool.release.name, found=tuple(found), failure=failure)


def _dependencies(tool: KafkaTool, name: str, level: int) -> LevelDependencies:
    release = tool.release
    try:
        if name == METADATA_VERSION:
            release.metadata_version(level)
            requires: Mapping[str, FeatureLevel] = {}
        else:
            requires = release.feature(name).level(level).dependencies
    except UnknownMetadataVersionError:
        raise CommandFailedError(f"Unknown metadata.version {level}") from None
    except UnknownFeatureError:
        raise CommandFailedError(f"Unknown feature: {name}") from None
    except UnknownFeatureLevelError:
        if tool.tool is Tool.FEATURES:
            raise CommandFailedError(f"No feature:{name} with feature level {level}") from None
        raise CommandFailedError(f"Feature level {level} is not supported for feature {name}") from None
    return LevelDependencies(
        feature=name,
        level=FeatureLevel(level),
        metadata_version_names=_metadata_version_names(release),
        requires=requires,
    )


def _metadata_version_names(release: Release) -> dict[int, str]:
    return {int(version.level): version.name for version in release.kraft.metadata_versions}


def parse_feature_level(tool: KafkaTool, text: str) -> tuple[str, int]:
    """Read `name=level` as the tool does. Raises CommandFailedError in its words."""
    name, equals, level = text.partition("=")
    if tool.tool is Tool.FEATURES or tool.wording.strips_features:
        name, level = name.strip(_BLANKS), level.strip(_BLANKS)
    if not equals:
        raise CommandFailedError(_no_equals_sign(tool, text))
    if _SHORT.fullmatch(level) and _SHORT_MIN <= int(level) <= _SHORT_MAX:
        return name, int(level)
    if tool.tool is Tool.FEATURES:
        raise CommandFailedError(f"Can't parse feature=level string {text}: unable to parse {level} as a short.")
    raise CommandFailedError(f"Invalid version format: {level} for feature {name}")


def _no_equals_sign(tool: KafkaTool, text: str) -> str:
    if tool.tool is Tool.FEATURES:
        return f"Can't parse feature=level string {text}: equals sign not found."
    # Differs from Kafka: kafka-storage of 4.0 and 4.1 ends with a stack trace here.
    return f"Invalid feature format: {text}. Expected format: 'feature=version' (e.g. 'group.version=1')"
