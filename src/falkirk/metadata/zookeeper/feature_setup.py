"""What a controller makes of `/features` when it is elected. Source: KIP-584, feature ZK node status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.zookeeper.finalized_features import DISABLED, FeatureState, FinalizedRange

if TYPE_CHECKING:
    from falkirk.metadata.zookeeper.finalized_features import Supported


def set_up(existing: FeatureState | None, *, supports_features: bool, supported: Supported) -> FeatureState:
    """Give what the znode is to say; equal to `existing`: there is nothing to write.

    `existing` None: there is no znode. `supports_features`: the controller's inter.broker.protocol.version is the
    migration's or above it. `supported`: what the controller itself supports.

    A new cluster starts with all of that finalized. A cluster that was disabled, because it was upgraded, starts with
    nothing, for operators finalize what they are ready for.
    """
    if not supports_features:
        return DISABLED
    if existing is None:
        return FeatureState(
            is_enabled=True,
            features={name: FinalizedRange(levels.lowest, levels.highest) for name, levels in supported.items()},
        )
    return existing if existing.is_enabled else FeatureState(is_enabled=True)
