"""The finalized features of a cluster on ZooKeeper: what the znode `/features` says, in whatever form it says it.

Source: KIP-584, persistence of finalized feature version levels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from falkirk.versions.features import unsupported_features
from falkirk.versions.supported_range import SupportedRange

Supported = Mapping[str, SupportedRange]
"""What one broker supports: the range of levels by feature."""


@dataclass(frozen=True, slots=True)
class FinalizedRange:
    """The levels of one feature that may be in use in the whole cluster: 1 <= min_level <= max_level."""

    min_level: int
    max_level: int

    def __post_init__(self) -> None:
        assert self.min_level >= 1
        assert self.max_level >= self.min_level


@dataclass(frozen=True, slots=True)
class FeatureState:
    """Whether the cluster versions its features at all, and each finalized feature's levels."""

    is_enabled: bool
    features: Mapping[str, FinalizedRange] = field(default_factory=dict)


DISABLED: Final = FeatureState(is_enabled=False)
"""What stands below the first inter.broker.protocol.version that has finalized features."""


def incompatibilities(supported: Supported, state: FeatureState) -> tuple[str, ...]:
    """Say, one sentence for each feature, sorted, what is finalized that a broker cannot run with.

    That is a feature that it does not know, or a max level that it does not support. While `state` is disabled
    everything goes with it. Source: KIP-584, broker protections.
    """
    if not state.is_enabled:
        return ()
    max_levels = {name: levels.max_level for name, levels in state.features.items()}
    return tuple(
        f"{found.name} is finalized at level {found.level}, "
        + ("and is not supported" if found.supported is None else f"and only {found.supported} is supported")
        for found in unsupported_features(max_levels, supported)
    )
