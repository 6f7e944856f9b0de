"""An operator with a shell who writes to ZooKeeper what nobody should, and sometimes repairs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.zookeeper.controller_znode import CONTROLLER_EPOCH_PATH, CONTROLLER_PATH
from falkirk.metadata.zookeeper.features_znode import encode_features
from falkirk.metadata.zookeeper.finalized_features import FeatureState, FinalizedRange
from falkirk.simulation.zookeeper.world.ensemble import BY_HAND
from falkirk.zookeeper_node.session.operations import ANY_VERSION, Create, Delete, Done, SetData

if TYPE_CHECKING:
    from falkirk.protocol.chance import Chance
    from falkirk.simulation.machine.timeline import Timeline
    from falkirk.simulation.zookeeper.world.ensemble import Ensemble
    from falkirk.simulation.zookeeper.world.features_truth import FeaturesTruth
    from falkirk.simulation.zookeeper.world.marks import ZooKeeperMarks
    from falkirk.zookeeper_node.session.operations import Operation

_RUBBISH: Final = (
    b"",
    b"{",
    b'{"version":9,"status":1,"features":{}}',
    b'{"version":1,"status":1,"features":{"group_coordinator":{"min_version_level":3,"max_version_level":2}}}',
    b'{"version":1,"status":1,"features":{"group_coordinator":{"min_version_level":0,"max_version_level":2}}}',
)
_STRANGE_BROKER: Final = "/brokers/ids/9"


class Hands:
    """Every manual damage can be repaired: `mend` restores the features."""

    def __init__(
        self, ensemble: Ensemble, truth: FeaturesTruth, chance: Chance, timeline: Timeline, marks: ZooKeeperMarks
    ) -> None:
        self._ensemble = ensemble
        self._truth = truth
        self._chance = chance
        self._timeline = timeline
        self._marks = marks

    def move_controller(self) -> None:
        """Delete `/controller`, as operators do to force a new election."""
        if isinstance(self._ensemble.ask(BY_HAND, Delete(CONTROLLER_PATH)), Done):
            self._did("controller moved by hand")

    def spoil(self) -> None:
        """Delete what nodes have written, or overwrite it with garbage."""
        rubbish, features = self._chance.choice(_RUBBISH), self._truth.path
        epoch = self._chance.choice((b"", b"none", b"7", b"100"))
        ways: tuple[tuple[str, Operation], ...] = (
            ("rubbish among the brokers", Create(_STRANGE_BROKER, rubbish)),
            ("features changed by hand", self._changed()),
            ("features deleted by hand", Delete(features)),
            ("features spoilt by hand", SetData(features, rubbish, ANY_VERSION)),
            ("features spoilt by hand", SetData(features, rubbish, ANY_VERSION)),
            ("controller epoch changed by hand", SetData(CONTROLLER_EPOCH_PATH, epoch, ANY_VERSION)),
            ("rubbish as the controller", SetData(CONTROLLER_PATH, rubbish, ANY_VERSION)),
        )
        mark, operation = self._chance.choice(ways)
        if isinstance(self._ensemble.ask(BY_HAND, operation), Done):
            self._did(mark)

    def _changed(self) -> Operation:
        """Return a write of another level, which brokers may not support."""
        state = self._truth.now.state
        if state is None or not state.features:
            return Delete(self._truth.path)
        name, level = self._chance.choice(sorted(state.features)), self._chance.randrange(1, 5)
        features = {**state.features, name: FinalizedRange(1, level)}
        data = encode_features(FeatureState(is_enabled=True, features=features), kip_778=False)
        return SetData(self._truth.path, data, ANY_VERSION)

    def mend(self) -> None:
        """Restore the last valid features."""
        self._ensemble.ask(BY_HAND, Delete(_STRANGE_BROKER))
        epoch = self._ensemble.znode(CONTROLLER_EPOCH_PATH)
        if epoch is not None and not epoch.data.isdigit():
            self._ensemble.ask(BY_HAND, SetData(CONTROLLER_EPOCH_PATH, b"1000", ANY_VERSION))
        now = self._truth.now
        if now.state is not None:
            return
        good = next((written.znode for written in reversed(self._truth.writes) if written.state is not None), None)
        if good is None:
            if now.znode is not None:
                self._ensemble.ask(BY_HAND, Delete(self._truth.path))
            return
        mended = (
            Create(self._truth.path, good.data)
            if now.znode is None
            else SetData(self._truth.path, good.data, ANY_VERSION)
        )
        self._ensemble.ask(BY_HAND, mended)
        self._did("features mended by hand")

    def _did(self, mark: str) -> None:
        self._marks.add(mark)
        self._timeline.add("by hand", mark)
