"""The states of a classic group."""

from __future__ import annotations

import enum
from typing import Final


class ClassicGroupState(enum.StrEnum):
    """As Kafka lists them. DEAD is only used to describe a group that does not exist."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


VALID_PREVIOUS_STATES: Final = {
    ClassicGroupState.EMPTY: {ClassicGroupState.PREPARING_REBALANCE},
    ClassicGroupState.PREPARING_REBALANCE: {
        ClassicGroupState.STABLE,
        ClassicGroupState.COMPLETING_REBALANCE,
        ClassicGroupState.EMPTY,
    },
    ClassicGroupState.COMPLETING_REBALANCE: {ClassicGroupState.PREPARING_REBALANCE},
    ClassicGroupState.STABLE: {ClassicGroupState.COMPLETING_REBALANCE},
}
"""By state, the states from which it is reached."""
