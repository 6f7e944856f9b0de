"""Marks of KIP-584's mode: rare states that runs must reach to be worth running."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from falkirk.zookeeper_node.session.operations import Create, Failed, KeeperError, Multi

if TYPE_CHECKING:
    from falkirk.metadata.zookeeper.finalized_features import FeatureState
    from falkirk.simulation.zookeeper.world.features_truth import Written
    from falkirk.zookeeper_node.session.operations import Answer, Operation

_FAULTS: Final = (
    "session expired",
    "session expired by silence",
    "session ended by ZooKeeper",
    "controller's session ended by ZooKeeper",
    "cut off from ZooKeeper",
    "controller cut off from ZooKeeper",
    "read-only",
    "write lost",
    "write lost after its effect",
    "write carried out after its connection",
    "notification late",
    "server lags behind",
    "watches lost",
    "broker crashed",
    "controller crashed",
    "controller crashed while it wrote",
    "controller's session ended while it wrote",
    "controller moved while it wrote",
    "frozen",
    "orderly restart",
    "controller moved by hand",
    "rubbish among the brokers",
    "controller epoch changed by hand",
    "rubbish as the controller",
    "features changed by hand",
    "features deleted by hand",
    "features spoilt by hand",
    "features mended by hand",
)
_ANSWERS: Final = (
    "update answered NONE",
    "update answered INVALID_REQUEST",
    "update answered FEATURE_UPDATE_FAILED",
    "update answered NOT_CONTROLLER",
    "update answered REQUEST_TIMED_OUT",
    "update without an answer",
    "dry run accepted",
    "partial success",
    "whole answer",
)
_STOPS: Final = (
    "node stopped: as asked",
    "node stopped: incompatible features",
    "node stopped: malformed features",
    "node stopped: no ZooKeeper",
    "node stopped: second of its id",
)
_RACES: Final = (
    "incompatible broker registered",
    "incompatible broker ignored",
    "node stopped by a change",
)
_WRITES: Final = (
    "features set up",
    "features disabled",
    "features enabled",
    "feature added",
    "feature upgraded",
    "feature downgraded",
    "feature deleted",
    "minimum raised",
    "write fenced",
    "write refused by the version",
    "broker's znode of another session met",
)
ZOOKEEPER_MARKS: Final = (*_FAULTS, *_ANSWERS, *_STOPS, *_RACES, *_WRITES)


class ZooKeeperMarks:
    """How often a run reached each mark."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(self, mark: str) -> None:
        """Count a mark once."""
        assert mark in ZOOKEEPER_MARKS, mark
        self.counts[mark] += 1

    def answered(self, operation: Operation, answer: Answer, features_path: str) -> None:
        """Count the marks that an answer shows."""
        if not isinstance(answer, Failed):
            return
        if isinstance(operation, Create) and answer.refusal is KeeperError.NODE_EXISTS and "/ids/" in operation.path:
            self.add("broker's znode of another session met")
        if isinstance(operation, Multi) and answer.refusal is KeeperError.BAD_VERSION and answer.part is not None:
            is_of_features = any(part.path == features_path for part in operation.parts)
            if is_of_features:
                self.add("write refused by the version" if answer.part else "write fenced")

    def written(self, before: Written, after: Written, *, is_by_hand: bool) -> None:
        """Count the marks that a write to the features shows."""
        if is_by_hand or after.state is None:
            return
        if before.state is None:
            self.add("features set up")
        elif before.state.is_enabled != after.state.is_enabled:
            self.add("features enabled" if after.state.is_enabled else "features disabled")
        else:
            self._changed(before.state, after.state)

    def _changed(self, before: FeatureState, after: FeatureState) -> None:
        for name in {*before.features, *after.features}:
            old, new = before.features.get(name), after.features.get(name)
            if old is None or new is None:
                self.add("feature added" if old is None else "feature deleted")
                continue
            if new.max_level != old.max_level:
                self.add("feature upgraded" if new.max_level > old.max_level else "feature downgraded")
            if new.min_level > old.min_level:
                self.add("minimum raised")
