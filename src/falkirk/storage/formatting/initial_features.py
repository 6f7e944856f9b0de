"""The feature levels with which a new cluster starts (KIP-778, KIP-1022): what was asked for, defaults, checks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.storage.formatting.errors import FormatterError
from falkirk.versions.errors import UnknownFeatureLevelError
from falkirk.versions.features import KRAFT_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION, FeatureLevel
from falkirk.versions.metadata_version_rows import METADATA_VERSION_ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falkirk.storage.formatting.rules import FormatRules
    from falkirk.versions.features import Feature
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release

_INT16_MAX: Final = (1 << 15) - 1
# 3.3-IV0, the first that can stand in bootstrap.checkpoint (KIP-778).
_BOOTSTRAP_LEVEL_MIN: Final = 4
_BOOTSTRAP_NAME_MIN: Final = "3.3-IV0"


@dataclass(frozen=True, slots=True, kw_only=True)
class InitialFeatures:
    """Levels of a new cluster by name, metadata.version apart; `said`: lines to print before the rest."""

    metadata_version: MetadataVersion
    levels: Mapping[str, int]
    said: tuple[str, ...] = ()

    @property
    def kraft_version(self) -> int:
        """Level of kraft.version."""
        return self.levels.get(KRAFT_VERSION, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureWish:
    """What the operator asks for. `has_dynamic_quorum` as the release understands it."""

    release: Release
    rules: FormatRules
    # A metadata.version or a release; None: the newest.
    release_version: str | None
    levels: Mapping[str, int]
    is_unstable_enabled: bool
    has_dynamic_quorum: bool


def parse_feature_levels(texts: Sequence[str]) -> dict[str, int]:
    """Read `feature=level` each; a feature that is named twice has its last level. Raises FormatterError."""
    levels: dict[str, int] = {}
    for text in texts:
        name, equals, level = (part.strip() for part in text.partition("="))
        if not equals:
            raise FormatterError(f"Can't parse feature=level string {text}: equals sign not found.")
        if not re.fullmatch(r"[+-]?[0-9]{1,5}", level) or not -_INT16_MAX - 1 <= int(level) <= _INT16_MAX:
            raise FormatterError(f"Can't parse feature=level string {text}: unable to parse {level} as a short.")
        levels[name] = int(level)
    return levels


def choose_initial_features(wish: FeatureWish) -> InitialFeatures:
    """Give the levels of the new cluster. Raises FormatterError in the words of the release's tool."""
    metadata_version, said = _metadata_version(wish)
    levels = _levels(wish, metadata_version) if wish.rules.writes_features else {}
    if metadata_version.level < _BOOTSTRAP_LEVEL_MIN:
        raise FormatterError(wish.rules.bootstrap_too_old)
    return InitialFeatures(metadata_version=metadata_version, levels=levels, said=said)


def _metadata_version(wish: FeatureWish) -> tuple[MetadataVersion, tuple[str, ...]]:
    level = wish.levels.get(METADATA_VERSION)
    if level is not None and wish.release_version is not None:
        raise FormatterError(f"Use --release-version instead of --feature {METADATA_VERSION}=X to avoid ambiguity.")
    if level is not None:
        version = _of_level(wish, level)
    elif wish.release_version is not None:
        version = _of_text(wish, wish.release_version)
    elif wish.is_unstable_enabled and wish.rules.writes_features:
        version = wish.release.kraft.metadata_versions[-1]
    else:
        version = wish.release.latest_metadata_version
    if version <= wish.release.latest_metadata_version:
        return version, ()
    return version, _accept_unstable(wish, version)


def _of_level(wish: FeatureWish, level: int) -> MetadataVersion:
    known = wish.release.kraft.metadata_versions
    for version in known:
        if version.level == level:
            return version
    text = f"No MetadataVersion with feature level {level}"
    if wish.rules.tells_range_of_levels:
        text += f". Valid feature levels are from {known[0].level} to {known[-1].level}."
    raise FormatterError(text)


def _of_text(wish: FeatureWish, text: str) -> MetadataVersion:
    release, rules = wish.release, wish.rules
    known = release.kraft.metadata_versions
    version = release.find_metadata_version(text)
    if rules.lists_metadata_versions:
        if not wish.is_unstable_enabled:
            known = tuple(one for one in known if one <= release.latest_metadata_version)
        if version not in known:
            names = ", ".join(one.name for one in known)
            raise FormatterError(f"Unknown metadata.version '{text}'. Supported metadata.version are: {names}")
    if version is not None:
        return version
    if rules.tells_range_of_levels:
        raise FormatterError(
            f"Version {text} is not a valid version. The minimum version is {known[0]} and the maximum version is "
            f"{known[-1]}"
        )
    older = _before_kraft(text)
    if older is None:
        raise FormatterError(f"Version {text} is not a valid version")
    if rules.writes_features:
        raise FormatterError(f"{METADATA_VERSION} {older} is too old to be supported.")
    raise FormatterError(rules.kraft_too_old)


def _before_kraft(text: str) -> str | None:
    """Give the full name of a version that brokers on ZooKeeper had, None if there was none of that name."""
    names = [row.name for row in METADATA_VERSION_ROWS if row.level is None]
    word = ".".join(text.split(".")[: 3 if text.startswith("0.") else 2])
    return next((name for name in reversed(names) if word in (name, name.partition("-")[0])), None)


def _accept_unstable(wish: FeatureWish, version: MetadataVersion) -> tuple[str, ...]:
    if wish.rules.writes_features:
        if not wish.is_unstable_enabled:
            raise FormatterError(f"{METADATA_VERSION} {version} is not yet stable.")
        return ()
    if not wish.is_unstable_enabled:
        raise FormatterError(wish.rules.not_ready.format(version))
    return (wish.rules.pre_production.format(version),)


def _levels(wish: FeatureWish, metadata_version: MetadataVersion) -> dict[str, int]:
    features = wish.release.features
    for name in sorted(wish.levels):
        if name != METADATA_VERSION and name not in features:
            names = ", ".join(sorted(features))
            raise FormatterError(f"Unsupported feature: {name}. Supported features are: {names}")
    levels = {
        name: wish.levels.get(name, feature.default_level(metadata_version)) for name, feature in features.items()
    }
    levels[KRAFT_VERSION] = _kraft_version(wish)
    levels = dict(sorted(levels.items()))
    for name, level in levels.items():
        _check_level(wish, features[name], level, {METADATA_VERSION: metadata_version.level, **levels})
    return levels


def _kraft_version(wish: FeatureWish) -> int:
    level = wish.levels.get(KRAFT_VERSION)
    if level is None:
        return 1 if wish.has_dynamic_quorum else 0
    if (level != 0) == wish.has_dynamic_quorum:
        return level
    condition = "if" if level == 0 else "unless"
    if not wish.rules.configuration_decides:
        raise FormatterError(
            f"Cannot set {KRAFT_VERSION} to {level} {condition} KIP-853 configuration is present. Try removing the "
            f"--feature flag for {KRAFT_VERSION}."
        )
    advice = "removing the --feature flag for kraft.version."
    if level != 0:
        advice = (
            "using one of --standalone, --initial-controllers, or --no-initial-controllers and removing "
            "controller.quorum.voters."
        )
    raise FormatterError(
        f"Cannot set {KRAFT_VERSION} to {level} {condition} controller.quorum.voters is empty and one of the flags "
        "--standalone, --initial-controllers, or --no-initial-controllers is used. For dynamic controllers support, "
        f"try {advice}"
    )


def _check_level(wish: FeatureWish, feature: Feature, level: int, levels: Mapping[str, int]) -> None:
    supported = feature.supported_unstable if wish.is_unstable_enabled else feature.supported
    try:
        known = feature.level(level)
    except UnknownFeatureLevelError:
        known = None
    if known is None or not (level == 0 or (supported is not None and FeatureLevel(level) in supported)):
        raise FormatterError(f"No feature:{feature.name} with feature level {level}")
    if level > 0 and levels[METADATA_VERSION] < _BOOTSTRAP_LEVEL_MIN:
        raise FormatterError(
            f"{feature.name} could not be set to {level} because it depends on {METADATA_VERSION}="
            f"{_BOOTSTRAP_LEVEL_MIN} ({_BOOTSTRAP_NAME_MIN})"
        )
    for other, needed in known.dependencies.items():
        if levels.get(other, 0) < needed:
            raise FormatterError(
                f"{feature.name} could not be set to {level} because it depends on {other} level {needed}"
            )
