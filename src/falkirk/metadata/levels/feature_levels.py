"""Which levels of finalized features a target can run."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from falkirk.metadata.losses.loss import Loss, Outcome
from falkirk.metadata.records.record_key import feature_key
from falkirk.protocol.messages import FeatureLevelRecord
from falkirk.versions.errors import UnknownFeatureLevelError
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion
from falkirk.versions.release import Release, all_releases, latest_release

if TYPE_CHECKING:
    from falkirk.metadata.image.features import FeaturesImage
    from falkirk.versions.features import LevelOfFeature


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureTarget:
    """The target of features: a metadata.version, and the release of the nodes that will read them, if it is known."""

    metadata_version: MetadataVersion
    release: Release | None = None
    # Drop a feature level that clusters have by default only from a higher metadata.version on. Kafka does not ask for
    # that, so None means: only where no release says what its nodes support.
    bootstrap_levels_bind: bool | None = None
    elr_enabled: bool | None = None


def levels_at(features: FeaturesImage, target: FeatureTarget) -> tuple[dict[str, int], list[Loss]]:
    """Return the levels that a target can run, by name, and a loss for each feature that is dropped or lowered."""
    levels: dict[str, int] = {}
    losses = []
    for name, level in sorted(features.finalized.items()):
        kept = level
        while kept > 0 and reason_not_kept(features, name, kept, target) is not None:
            kept -= 1
        if kept > 0:
            levels[name] = kept
        if kept < level:
            reason = reason_not_kept(features, name, level, target)
            losses.append(_loss(name, level, kept, f"{reason}"))
    return levels, losses


def reason_not_kept(features: FeaturesImage, name: str, level: int, target: FeatureTarget) -> str | None:
    """Return why a target cannot run a feature at a level, as `it needs metadata.version 4.0-IV1`; None if it can."""
    if name == ELIGIBLE_LEADER_REPLICAS_VERSION and target.elr_enabled is False:
        return "eligible leader replicas are to be switched off"
    needed = needed_metadata_version(name, level, target.release)
    if needed is not None and target.metadata_version < needed:
        return f"it needs metadata.version {needed}"
    return _not_supported(name, level, target.release) or _too_new(features, name, level, target)


@functools.cache
def needed_metadata_version(name: str, level: int, release: Release | None = None) -> MetadataVersion | None:
    """Return the metadata.version that a feature level depends on in a release, None if it depends on none.

    Without a release the highest of all releases counts: kraft.version 1 needs one up to 4.0 and none from 4.1 on.
    Source: KIP-1022.
    """
    releases = all_releases() if release is None else (release,)
    levels = (_known_level(one, name, level) for one in releases)
    needed = [
        known.dependencies[METADATA_VERSION] for known in levels if known and METADATA_VERSION in known.dependencies
    ]
    return MetadataVersion.of_level(max(needed)) if needed else None


def _not_supported(name: str, level: int, release: Release | None) -> str | None:
    if release is None:
        return None
    supported = release.supported_features().get(name)
    if supported is None:
        return f"release {release} does not know it"
    return None if level in supported else f"release {release} supports {supported}"


def _too_new(features: FeaturesImage, name: str, level: int, target: FeatureTarget) -> str | None:
    at, before = target.metadata_version, features.metadata_version
    is_lowered = before is not None and at < before
    binds = target.release is None if target.bootstrap_levels_bind is None else target.bootstrap_levels_bind
    if not is_lowered or not binds:
        return None
    known = _known_level(latest_release(), name, level)
    if known is None:
        return "no release up to 4.4 knows it"
    if at < known.bootstrap_metadata_version:
        return f"clusters have it from metadata.version {known.bootstrap_metadata_version} on"
    return None


def _known_level(release: Release, name: str, level: int) -> LevelOfFeature | None:
    """Return a feature level as the release's tables have it, None if they do not."""
    if release.tables.kraft is None or name not in release.features:
        return None
    try:
        return release.feature(name).level(level)
    except UnknownFeatureLevelError:
        return None


def _loss(name: str, level: int, kept: int, reason: str) -> Loss:
    known = _known_level(latest_release(), name, level)
    record = FeatureLevelRecord(name=name, feature_level=level)
    return Loss(
        kind="feature_lowered" if kept else "feature_dropped",
        outcome=Outcome.FEATURE,
        key=feature_key(name),
        record="FeatureLevelRecord",
        level=None if known is None else known.bootstrap_metadata_version.level,
        detail_text=f"{name} {level} is {f'lowered to {kept}' if kept else 'dropped'}: {reason}",
        row=record,
        fields=("feature_level",),
        result_fields=("feature_level",),
        make_written=partial(FeatureLevelRecord, name, kept) if kept else None,
        make_original=lambda: (record, 0),
    )
