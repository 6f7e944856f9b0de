"""Every state that `/features` has had, whoever wrote it: the reference for what nodes report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.metadata.zookeeper.features_znode import decode_features
from falkirk.simulation.zookeeper.world.ensemble import BY_HAND

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.metadata.zookeeper.finalized_features import FeatureState
    from falkirk.simulation.machine.clock import Clock
    from falkirk.simulation.zookeeper.world.ensemble import Ensemble, Transaction
    from falkirk.zookeeper_node.session.operations import Znode


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The znode from one write to the next. `znode`: None if absent; `state`: None if absent or malformed."""

    session_id: int
    at_ms: int
    znode: "Znode | None"
    state: "FeatureState | None"

    @property
    def is_by_hand(self) -> bool:
        """True if an operator with a shell wrote it."""
        return self.session_id == BY_HAND

    @property
    def is_malformed(self) -> bool:
        """True if it exists and cannot be parsed."""
        return self.znode is not None and self.state is None


class FeaturesTruth:
    """All states in order; the first entry is the absent znode."""

    def __init__(self, ensemble: Ensemble, clock: Clock, path: str) -> None:
        self.path = path
        self.writes: list[Written] = [Written(session_id=BY_HAND, at_ms=0, znode=None, state=None)]
        # Called with each write: the transaction, the state before and after.
        self.observers: list[Callable[[Transaction, Written, Written], None]] = []
        self._clock = clock
        ensemble.observers.append(self._record)

    @property
    def now(self) -> Written:
        """The current state."""
        return self.writes[-1]

    def since(self, at_ms: int) -> Sequence[Written]:
        """Return all states since a time, the oldest first."""
        first = len(self.writes) - 1
        while first and self.writes[first].at_ms > at_ms:
            first -= 1
        return self.writes[first:]

    def _record(self, transaction: Transaction) -> None:
        for change in transaction.changes:
            if change.path == self.path:
                before = self.now
                self.writes.append(
                    Written(
                        session_id=transaction.session_id,
                        at_ms=self._clock.now_ms,
                        znode=change.after,
                        state=self._state(change.after),
                    )
                )
                for observe in self.observers:
                    observe(transaction, before, self.now)

    def _state(self, znode: Znode | None) -> FeatureState | None:
        if znode is None:
            return None
        try:
            return decode_features(znode.data, self.path)
        except ZnodeError:
            return None
