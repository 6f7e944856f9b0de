"""AnswersAreKept: an acknowledged update was applied, a refused one was not, and no other request changes levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.zookeeper.checkers.zookeeper_checker import ZooKeeperChecker
from falkirk.simulation.zookeeper.workload.update_history import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.metadata.zookeeper.finalized_features import FeatureState
    from falkirk.simulation.zookeeper.workload.update_history import RequestedUpdate, UpdateHistory
    from falkirk.simulation.zookeeper.world.features_truth import Written
    from falkirk.simulation.zookeeper.world.machine import Machine, Writer


class AnswersAreKept(ZooKeeperChecker):
    """Each change of a level belongs to a request of the feature's own administrator. Source: KIP-584, guarantees.

    A change that an unanswered request may also have made proves nothing.
    """

    def __init__(self, history: UpdateHistory) -> None:
        self._history = history
        self._open: list[RequestedUpdate] = []
        self._seen = 0

    def features_written(self, writer: Writer | None, before: Written, after: Written) -> None:
        """Match each change with its request. Creating the znode needs no request."""
        if writer is None or before.state is None or after.state is None:
            return
        if not (before.state.is_enabled and after.state.is_enabled):
            return
        for name, level in _changes(before.state, after.state):
            candidates = [
                update for update in self._history.candidates(name, after.at_ms) if _is_same(update.levels[name], level)
            ]
            if not candidates:
                raise self.violated(f"{writer.name} set {name} to {level}, which nobody had requested")
            for update in candidates:
                update.applied.add(name)
                if len(candidates) > 1:
                    update.doubted.add(name)

    def tick(self, machine: Machine) -> None:  # noqa: ARG002  as ZooKeeperChecker
        """Check new responses."""
        self._open += self._history.updates[self._seen :]
        self._seen = len(self._history.updates)
        for update in self._open:
            if update.outcomes:
                self._check_answer(update)
        self._open = [update for update in self._open if not update.outcomes]

    def _check_answer(self, update: RequestedUpdate) -> None:
        for name, outcome in update.outcomes.items():
            if outcome is Outcome.DONE and not update.is_dry_run and name not in update.applied:
                raise self.violated(f"{update.what}: {name} was answered as done, and was not")
            if outcome is Outcome.REFUSED and name in update.applied - update.doubted:
                raise self.violated(f"{update.what}: {name} was answered as refused, and was done")


def _changes(before: FeatureState, after: FeatureState) -> Iterator[tuple[str, int]]:
    """Yield features whose max level changed, with the new one, 0 if the feature was deleted."""
    for name in sorted({*before.features, *after.features}):
        old, new = before.features.get(name), after.features.get(name)
        level = 0 if new is None else new.max_level
        if level != (0 if old is None else old.max_level):
            yield name, level


def _is_same(requested: int, written: int) -> bool:
    return requested == written or (requested < 1 and written < 1)
