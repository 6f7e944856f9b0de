"""What `/features` has been from write to write, whoever wrote it: what nodes tell is measured by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.metadata.zookeeper.features_znode import decode_features
from falkirk.simulation.zookeeper.ensemble import BY_HAND

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.metadata.zookeeper.finalized_features import FeatureState
    from falkirk.node.zookeeper.operations import Znode
    from falkirk.simulation.clock import Clock
    from falkirk.simulation.zookeeper.ensemble import Ensemble, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The znode from one write to the next. `znode` None: there is none; `state` None: nor if it cannot be read."""

    session_id: int
    at_ms: int
    znode: Znode | None
    state: FeatureState | None

    @property
    def is_by_hand(self) -> bool:
        """Say whether somebody with a shell wrote it."""
        return self.session_id == BY_HAND

    @property
    def is_malformed(self) -> bool:
        """Say whether it stands there and cannot be read."""
        return self.znode is not None and self.state is None


class FeaturesTruth:
    """All of it, in order; the first entry is the time before there was any."""

    def __init__(self, ensemble: Ensemble, clock: Clock, path: str) -> None:
        self.path = path
        self.writes: list[Written] = [Written(session_id=BY_HAND, at_ms=0, znode=None, state=None)]
        # Asked to look at each write: the transaction, what was, what is.
        self.observers: list[Callable[[Transaction, Written, Written], None]] = []
        self._clock = clock
        ensemble.observers.append(self._look)

    @property
    def now(self) -> Written:
        """What stands there."""
        return self.writes[-1]

    def since(self, at_ms: int) -> Sequence[Written]:
        """Give all that has been there since a time, the oldest first."""
        first = len(self.writes) - 1
        while first and self.writes[first].at_ms > at_ms:
            first -= 1
        return self.writes[first:]

    def _look(self, transaction: Transaction) -> None:
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
