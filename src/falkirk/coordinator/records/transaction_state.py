"""The states of a transactional id, as records and APIs have them. KIP-98, KIP-360."""

from __future__ import annotations

import enum
from typing import Final


class TransactionState(enum.IntEnum):
    """The numbers of the states in records. DEAD and PREPARE_EPOCH_FENCE are in no record of Kafka's."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def state_name(self) -> str:
        """The name in DescribeTransactions and ListTransactions: `PrepareCommit`."""
        return _NAMES[self]


_NAMES: Final = {state: "".join(word.title() for word in state.name.split("_")) for state in TransactionState}
STATES_BY_NAME: Final = {name: state for state, name in _NAMES.items()}
