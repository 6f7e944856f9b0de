"""The levels of a cluster's finalized features at a target: `metadata.levels.feature_levels.levels_at`, one by one.

A cluster has a dozen features, and only a few levels of them are in use, so workers keep the answers.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from immutables import Map

from falkirk.metadata.image.features import FeaturesImage
from falkirk.metadata.levels.feature_levels import FeatureTarget, levels_at
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from falkirk.metadata.losses.loss import Loss


class FeatureAnswer(NamedTuple):
    """The level that a feature keeps, 0 for none, and what is told of the loss if that is lower."""

    kept_level: int
    kind: str | None = None
    key: str | None = None
    key_fields: str | None = None
    record: str | None = None
    detail: str | None = None


def kept_level(feature: str, level: int, at: MetadataVersion, release: Release) -> tuple[int, Loss | None]:
    """Return the level of one feature at a target, 0 for none, and the loss if it is lower.

    For a given release, one feature's level does not depend on the others'.
    """
    target = FeatureTarget(metadata_version=at, release=release)
    levels, losses = levels_at(FeaturesImage(Map({feature: level})), target)
    return levels.get(feature, 0), losses[0] if losses else None


@functools.cache
def target_of(feature: str, level: int, at: int, release: str) -> FeatureAnswer:
    """Return the answer for one feature, of a release by its name."""
    kept, loss = kept_level(feature, level, MetadataVersion.of_level(at), Release.parse(release))
    if loss is None:
        return FeatureAnswer(kept)
    key_fields = msgspec.json.encode(loss.key.fields()).decode()
    return FeatureAnswer(kept, loss.kind, loss.key_text, key_fields, loss.record, loss.detail)
