"""Which features a cluster has agreed on and which a node supports, as one node tells it. Source: KIP-584."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.client.node_versions import NodeVersions


@dataclass(frozen=True, slots=True)
class SupportedVersionRange:
    """Levels of a feature that the node which was asked can run, both ends included."""

    min_version: int
    max_version: int


@dataclass(frozen=True, slots=True)
class FinalizedVersionRange:
    """Levels of a feature that the whole cluster runs: those below the minimum are deprecated.

    From nodes with a quorum both ends are the same (KIP-778); on ZooKeeper they may differ (KIP-584).
    """

    min_version_level: int
    max_version_level: int


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
        """Take it from what a node told of itself."""
        return cls(
            finalized_features=versions.finalized_features,
            finalized_features_epoch=versions.finalized_features_epoch,
            supported_features={
                name: SupportedVersionRange(levels.lowest, levels.highest)
                for name, levels in versions.supported_features.items()
            },
        )

    def not_older_than(self, known: FeatureMetadata | None) -> FeatureMetadata:
        """Give it with what is known to be finalized, if that is of a higher epoch: a node may lag behind."""
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
