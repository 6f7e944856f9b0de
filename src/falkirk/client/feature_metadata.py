"""Finalized features of a cluster and supported features of a node, as that node reports them. Source: KIP-584."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.client.node_versions import FinalizedVersionRange, NodeVersions


@dataclass(frozen=True, slots=True)
class SupportedVersionRange:
    """The levels of a feature that one node supports, both ends included."""

    min_version: int
    max_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureMetadata:
    """Features by name. `finalized_features_epoch` is None where finalized features are not known.

    The epoch rises with every change. Supported features are those of one node, and nodes may differ.
    """

    finalized_features: Mapping[str, FinalizedVersionRange]
    finalized_features_epoch: int | None
    supported_features: Mapping[str, SupportedVersionRange]

    @classmethod
    def of(cls, versions: NodeVersions) -> FeatureMetadata:
        """Return the features in a node's answer to ApiVersions."""
        return cls(
            finalized_features=versions.finalized_features,
            finalized_features_epoch=versions.finalized_features_epoch,
            supported_features={
                name: SupportedVersionRange(levels.lowest, levels.highest)
                for name, levels in versions.supported_features.items()
            },
        )

    def not_older_than(self, known: FeatureMetadata | None) -> FeatureMetadata:
        """Return this with the finalized features of `known` if their epoch is higher: a node may lag."""
        if known is None or known.finalized_features_epoch is None:
            return self
        if (
            self.finalized_features_epoch is not None
            and self.finalized_features_epoch >= known.finalized_features_epoch
        ):
            return self
        return replace(
            self,
            finalized_features=known.finalized_features,
            finalized_features_epoch=known.finalized_features_epoch,
        )
