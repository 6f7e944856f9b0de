"""Deprecation of feature levels: the finalized min level follows what brokers support.

Source: KIP-584, feature version deprecation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.zookeeper.finalized_features import FeatureState, FinalizedRange, incompatibilities

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.metadata.zookeeper.finalized_features import Supported


def raise_minimums(state: FeatureState, brokers: Mapping[int, Supported]) -> FeatureState:
    """Return the state without levels that a live broker has dropped; `state` itself if there are none.

    Each min level rises to the highest min level that any of the brokers supports; it never falls, and never exceeds
    the max level. `brokers`: what live brokers support, by id; those that cannot run with `state` do not count.
    """
    if not state.is_enabled:
        return state
    compatible = [supported for supported in brokers.values() if not incompatibilities(supported, state)]
    features = {
        name: FinalizedRange(max(levels.min_level, highest_minimum(name, compatible)), levels.max_level)
        for name, levels in state.features.items()
    }
    return state if features == state.features else FeatureState(is_enabled=True, features=features)


def highest_minimum(feature: str, brokers: Iterable[Supported]) -> int:
    """Return the lowest level of a feature that all of these brokers support; 1 if none of them knows it."""
    return max((supported[feature].lowest for supported in brokers if feature in supported), default=1)
