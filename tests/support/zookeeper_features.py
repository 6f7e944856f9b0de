"""Supported and finalized features of clusters on ZooKeeper, in short notation or drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from falkirk.metadata.zookeeper.finalized_features import FeatureState, FinalizedRange
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from falkirk.metadata.zookeeper.finalized_features import Supported

NAMES = ("a", "b", "c")
LEVELS = st.integers(1, 4)


def ranges(**levels: tuple[int, int]) -> Supported:
    """Return the features that a broker supports, from `a=(1, 2)`."""
    return {name: SupportedRange(*each) for name, each in levels.items()}


def finalized(**levels: tuple[int, int]) -> FeatureState:
    """Return the state of an enabled cluster, from min and max level by name."""
    return FeatureState(is_enabled=True, features={name: FinalizedRange(*each) for name, each in levels.items()})


_PAIRS = st.tuples(LEVELS, LEVELS).map(sorted)
SUPPORTED = st.dictionaries(st.sampled_from(NAMES), _PAIRS.map(lambda pair: SupportedRange(*pair)))
STATES = st.builds(
    FeatureState,
    st.booleans(),
    st.dictionaries(st.sampled_from(NAMES), _PAIRS.map(lambda pair: FinalizedRange(*pair))),
)
