"""The finalized features of a cluster on ZooKeeper, as the znode `/features` holds them in any of its forms.

Source: KIP-584, persistence of finalized feature version levels, feature ZK node status.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from falkirk.versions.features import unsupported_features
from falkirk.versions.supported_range import SupportedRange

Supported = Mapping[str, SupportedRange]
"""The range of levels that one broker supports, by feature."""


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
    """Whether the cluster has finalized features, and the levels of each."""

    is_enabled: bool
    features: Mapping[str, FinalizedRange] = field(default_factory=dict)


DISABLED: Final = FeatureState(is_enabled=False)
"""The state below the first inter.broker.protocol.version that has finalized features."""


def incompatibilities(supported: Supported, state: FeatureState) -> tuple[str, ...]:
    """Return a sentence for each finalized feature that a broker cannot run with, sorted.

    That is a feature that it does not know, or a max level that it does not support. While `state` is disabled
    there are none. Source: KIP-584, broker protections.
    """
    if not state.is_enabled:
        return ()
    max_levels = {name: levels.max_level for name, levels in state.features.items()}
    return tuple(
        f"{found.name} is finalized at level {found.level}, "
        + ("and is not supported" if found.supported is None else f"and only {found.supported} is supported")
        for found in unsupported_features(max_levels, supported)
    )


def elected_state(existing: FeatureState | None, *, supports_features: bool, supported: Supported) -> FeatureState:
    """Return the state that a controller writes when it is elected; equal to `existing` if nothing has to be written.

    `existing` None: there is no znode. `supports_features`: the controller's inter.broker.protocol.version is the
    migration's or above it. `supported`: what the controller itself supports.

    A new cluster starts with all of `supported` finalized. A cluster that was disabled, because it was upgraded, starts
    with nothing: operators finalize what they are ready for.
    """
    if not supports_features:
        return DISABLED
    if existing is None:
        return FeatureState(
            is_enabled=True,
            features={name: FinalizedRange(levels.lowest, levels.highest) for name, levels in supported.items()},
        )
    return existing if existing.is_enabled else FeatureState(is_enabled=True)
