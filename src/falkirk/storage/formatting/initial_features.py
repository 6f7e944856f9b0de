"""The feature levels of a new cluster (KIP-778, KIP-1022): requested levels, defaults, checks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.storage.formatting.errors import FormatterError
from falkirk.versions.errors import UnknownFeatureLevelError
from falkirk.versions.features import KRAFT_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION, FeatureLevel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falkirk.storage.formatting.rules import FormatRules
    from falkirk.versions.features import Feature
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release

_INT16_MAX: Final = (1 << 15) - 1
# 3.3-IV0, the first that bootstrap.checkpoint may have (KIP-778).
_BOOTSTRAP_LEVEL_MIN: Final = 4
_BOOTSTRAP_NAME_MIN: Final = "3.3-IV0"


@dataclass(frozen=True, slots=True, kw_only=True)
class InitialFeatures:
    """The levels of a new cluster by name, metadata.version apart; `notices`: lines to print before the rest."""

    metadata_version: "MetadataVersion"
    levels: "Mapping[str, int]"
    notices: tuple[str, ...] = ()

    @property
    def kraft_version(self) -> int:
        """Level of kraft.version."""
        return self.levels.get(KRAFT_VERSION, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedFeatures:
    """What the operator requests. `has_dynamic_quorum` as the release understands it."""

    release: "Release"
    rules: "FormatRules"
    # A metadata.version or a release; None: the newest.
    release_version: str | None
    levels: "Mapping[str, int]"
    is_unstable_enabled: bool
    has_dynamic_quorum: bool


def parse_feature_levels(texts: Sequence[str]) -> dict[str, int]:
    """Read `feature=level` each; of a feature that is named twice the last level counts. Raises FormatterError."""
    levels: dict[str, int] = {}
    for text in texts:
        name, equals, level = (part.strip() for part in text.partition("="))
        if not equals:
            raise FormatterError(f"Can't parse feature=level string {text}: equals sign not found.")
        if not re.fullmatch(r"[+-]?[0-9]{1,5}", level) or not -_INT16_MAX - 1 <= int(level) <= _INT16_MAX:
            raise FormatterError(f"Can't parse feature=level string {text}: unable to parse {level} as a short.")
        levels[name] = int(level)
    return levels


def choose_initial_features(request: RequestedFeatures) -> InitialFeatures:
    """Return the levels of the new cluster. Raises FormatterError in the words of the release's tool."""
    metadata_version, notices = _metadata_version(request)
    levels = _levels(request, metadata_version) if request.rules.writes_features else {}
    if metadata_version.level < _BOOTSTRAP_LEVEL_MIN:
        raise FormatterError(
            f"Bootstrap metadata.version before {_BOOTSTRAP_NAME_MIN} are not supported. Can't load metadata from "
            "format command"
        )
    return InitialFeatures(metadata_version=metadata_version, levels=levels, notices=notices)


def _metadata_version(request: RequestedFeatures) -> tuple[MetadataVersion, tuple[str, ...]]:
    level = request.levels.get(METADATA_VERSION)
    if level is not None and request.release_version is not None:
        raise FormatterError(f"Use --release-version instead of --feature {METADATA_VERSION}=X to avoid ambiguity.")
    if level is not None:
        version = _of_level(request, level)
    elif request.release_version is not None:
        version = _of_text(request, request.release_version)
    elif request.is_unstable_enabled and request.rules.writes_features:
        version = request.release.kraft.metadata_versions[-1]
    else:
        version = request.release.latest_metadata_version
    if version <= request.release.latest_metadata_version:
        return version, ()
    return version, _accept_unstable(request, version)


def _of_level(request: RequestedFeatures, level: int) -> MetadataVersion:
    known = request.release.kraft.metadata_versions
    for version in known:
        if version.level == level:
            return version
    raise FormatterError(
        f"No MetadataVersion with feature level {level}. Valid feature levels are from {known[0].level} to "
        f"{known[-1].level}."
    )


def _of_text(request: RequestedFeatures, text: str) -> MetadataVersion:
    known = request.release.kraft.metadata_versions
    if not request.is_unstable_enabled:
        known = tuple(version for version in known if version <= request.release.latest_metadata_version)
    found = request.release.find_metadata_version(text)
    if found is None or found not in known:
        names = ", ".join(version.name for version in known)
        raise FormatterError(f"Unknown metadata.version '{text}'. Supported metadata.version are: {names}")
    return found


def _accept_unstable(request: RequestedFeatures, version: MetadataVersion) -> tuple[str, ...]:
    if not request.is_unstable_enabled:
        raise FormatterError(f"{METADATA_VERSION} {version} is not yet stable.")
    return () if request.rules.writes_features else (request.rules.pre_production.format(version),)


def _levels(request: RequestedFeatures, metadata_version: MetadataVersion) -> dict[str, int]:
    features = request.release.features
    for name in sorted(request.levels):
        if name != METADATA_VERSION and name not in features:
            names = ", ".join(sorted(features))
            raise FormatterError(f"Unsupported feature: {name}. Supported features are: {names}")
    levels = {
        name: request.levels.get(name, feature.default_level(metadata_version)) for name, feature in features.items()
    }
    levels[KRAFT_VERSION] = _kraft_version(request)
    levels = dict(sorted(levels.items()))
    for name, level in levels.items():
        _check_level(request, features[name], level, {METADATA_VERSION: metadata_version.level, **levels})
    return levels


def _kraft_version(request: RequestedFeatures) -> int:
    level = request.levels.get(KRAFT_VERSION)
    if level is None:
        return 1 if request.has_dynamic_quorum else 0
    if (level != 0) == request.has_dynamic_quorum:
        return level
    condition = "if" if level == 0 else "unless"
    if not request.rules.configuration_decides:
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


def _check_level(request: RequestedFeatures, feature: Feature, level: int, levels: Mapping[str, int]) -> None:
    supported = feature.supported_unstable if request.is_unstable_enabled else feature.supported
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
