"""Which updates a command line of kafka-features asks for, in its words where it asks for none that can be."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.cli.failure import CommandFailedError
from falkirk.cli.feature_dependencies import parse_feature_level
from falkirk.client.feature_update import FeatureUpdate
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.cli.kafka_tool import KafkaTool
    from falkirk.versions.metadata_version import MetadataVersion

METADATA_IS_DEPRECATED: Final = " `metadata` flag is deprecated and may be removed in a future release."
# The least level that tools up to 4.1 name where they list those that they know.
_FIRST_NAMED: Final = "3.3-IV0"
# Levels from before KRaft, which 3.x tools know as -1.
_BEFORE_KRAFT: Final = re.compile(r"(0\.(8\.2|9|10\.\d|11)|[12]\.\d|3\.0)(\.\d+|-IV\d)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedUpdates:
    """The options of `upgrade` and `downgrade`, as they were given."""

    metadata: str | None = None
    release_version: str | None = None
    features: Sequence[str] = ()


def asked_updates(tool: KafkaTool, asked: AskedUpdates, upgrade_type: UpgradeType) -> dict[str, FeatureUpdate]:
    """Give the updates by feature; none if nothing was asked for. Raises CommandFailedError."""
    if asked.release_version is not None:
        if asked.metadata is not None or asked.features:
            raise CommandFailedError("Can not specify `release-version` with other feature flags.")
        return _levels_of_release(tool, _metadata_version(tool, asked.release_version), upgrade_type)
    updates: dict[str, FeatureUpdate] = {}
    if asked.metadata is not None:
        version = _metadata_version(tool, asked.metadata)
        updates[METADATA_VERSION] = _update(tool, version.level, upgrade_type)
    for text in asked.features:
        name, level = parse_feature_level(tool, text)
        update = _update(tool, level, upgrade_type)
        if name in updates:
            raise CommandFailedError(f"Feature {name} was specified more than once.")
        updates[name] = update
    _refuse_empty_name(updates)
    return updates


def asked_deletions(features: Iterable[str], upgrade_type: UpgradeType) -> dict[str, FeatureUpdate]:
    """Give the updates of `disable`. Raises CommandFailedError."""
    updates: dict[str, FeatureUpdate] = {}
    for name in features:
        if name in updates:
            raise CommandFailedError(f"Feature {name} was specified more than once.")
        updates[name] = FeatureUpdate(0, upgrade_type)
    _refuse_empty_name(updates)
    return updates


def _levels_of_release(
    tool: KafkaTool, version: MetadataVersion, upgrade_type: UpgradeType
) -> dict[str, FeatureUpdate]:
    levels = {METADATA_VERSION: version.level, **tool.release.default_levels(version)}
    is_upgrade = upgrade_type is UpgradeType.UPGRADE
    # Nothing is upgraded to "off".
    return {name: FeatureUpdate(level, upgrade_type) for name, level in levels.items() if level or not is_upgrade}


def _update(tool: KafkaTool, level: int, upgrade_type: UpgradeType) -> FeatureUpdate:
    if level == 0 and upgrade_type is UpgradeType.UPGRADE:
        raise CommandFailedError(tool.wording.level_zero)
    try:
        return FeatureUpdate(level, upgrade_type)
    except ValueError as error:
        raise CommandFailedError(str(error)) from error


def _metadata_version(tool: KafkaTool, text: str) -> MetadataVersion:
    found = tool.release.find_metadata_version(text)
    if found is not None:
        return found
    if not tool.wording.maps_versions and _BEFORE_KRAFT.fullmatch(text):
        raise CommandFailedError("Cannot specify a negative version level.")
    known = tool.release.kraft.metadata_versions
    if not tool.wording.asks_one_node:
        first = next((version for version in known if version.name == _FIRST_NAMED), known[0])
        known = tuple(version for version in known if first <= version <= tool.release.latest_metadata_version)
    names = ", ".join(version.name for version in known)
    raise CommandFailedError(tool.wording.unknown_metadata_version.format(text, names))


def _refuse_empty_name(updates: Iterable[str]) -> None:
    if any(not name.strip() for name in updates):
        raise CommandFailedError("Provided feature can not be empty.")
