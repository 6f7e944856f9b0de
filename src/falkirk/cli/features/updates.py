"""The updates of a command line of `falkirk features`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.cli.console.failure import CommandFailedError
from falkirk.cli.release_tables import parse_feature_level
from falkirk.client.feature_update import FeatureUpdate
from falkirk.operations.release_tables import parse_release_version
from falkirk.operations.target_levels import levels_of_release
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.protocol.upgrade_type import UpgradeType
    from falkirk.versions.release import Release

_VERSION_NAME: Final = re.compile(r"[0-9]+\.[0-9]+-IV[0-9]+")
METADATA_IS_DEPRECATED: Final = " `metadata` flag is deprecated and may be removed in a future release."


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateOptions:
    """The options of `upgrade` and `downgrade`."""

    metadata: str | None = None
    release_version: str | None = None
    features: Sequence[str] = ()


def requested_updates(release: Release, options: UpdateOptions, upgrade_type: UpgradeType) -> dict[str, FeatureUpdate]:
    """Return the updates by feature; `release` has the levels of a release version.

    Raises CommandFailedError, UnknownMetadataVersionError.
    """
    levels: list[tuple[str, int]] = []
    if options.release_version is not None:
        if options.metadata is not None or options.features:
            raise CommandFailedError("--release-version excludes --metadata and --feature")
        version = parse_release_version(release, options.release_version)
        levels += levels_of_release(release, version, upgrade_type).items()
    if options.metadata is not None:
        levels.append((METADATA_VERSION, parse_release_version(release, options.metadata).level))
    levels += (_parse_level(release, text) for text in options.features)
    return _updates(levels, upgrade_type)


def _parse_level(release: Release, text: str) -> tuple[str, int]:
    """Parse `name=level`; the level of metadata.version may be its name, as in KIP-778's samples."""
    name, _, level = (part.strip() for part in text.partition("="))
    if name == METADATA_VERSION and _VERSION_NAME.fullmatch(level):
        return name, parse_release_version(release, level).level
    return parse_feature_level(text)


def requested_deletions(features: Iterable[str], upgrade_type: UpgradeType) -> dict[str, FeatureUpdate]:
    """Return the updates of `disable`. Raises CommandFailedError."""
    return _updates([(name, 0) for name in features], upgrade_type)


def _updates(levels: Iterable[tuple[str, int]], upgrade_type: UpgradeType) -> dict[str, FeatureUpdate]:
    updates: dict[str, FeatureUpdate] = {}
    for name, level in levels:
        if not name.strip():
            raise CommandFailedError("the name of a feature is empty")
        if name in updates:
            raise CommandFailedError(f"feature {name} is named more than once")
        try:
            updates[name] = FeatureUpdate(level, upgrade_type)
        except ValueError as error:
            raise CommandFailedError(str(error)) from error
    return updates
