"""What is finalized, as this node knows it: the znode of features, watched (KIP-584, client discovery).

It is read when the session is connected, when its watch tells of a change, and when `read` is called, for a watch may
be lost. What is known stays known while the session is gone: clients are told what was true.

The server of a new session may lag behind the one before, but not behind what this session has written itself. So
whoever decides by what is finalized waits until it has been read after a write (`catch_up`, `is_fresh`).

Differs from Kafka: a znode that turns out to hold what cannot be meant changes nothing, where Kafka forgets what is
finalized. Who finalizes next finds the same fault, and writes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.metadata.zookeeper.features_znode import decode_features
from falkirk.node.effects import Fact
from falkirk.node.zookeeper.exchange import SessionState
from falkirk.node.zookeeper.operations import GetData, Znode
from falkirk.node.zookeeper.watched_znode import WatchedZnode

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.zookeeper.finalized_features import FeatureState
    from falkirk.node.effects import Effect
    from falkirk.node.zookeeper.operations import Children, Failed
    from falkirk.node.zookeeper.repeated_asks import RepeatedAsks
    from falkirk.node.zookeeper.session import Session


class FeaturesCache:
    """The last reading. `on_change` is told whenever state, epoch or fault are others, or the first ones."""

    def __init__(
        self,
        session: Session,
        asks: RepeatedAsks,
        path: str,
        *,
        on_change: Callable[[], None],
        failed: Callable[[str, Failed], None],
        effects: Callable[[Effect], None],
    ) -> None:
        self._path = path
        self._on_change = on_change
        self._effects = effects
        self._znode: Znode | None = None
        self._waiting: list[tuple[int, Callable[[], None]]] = []
        self.state: FeatureState | None = None
        """None: the znode is not there, or was never read."""
        self.fault: ZnodeError | None = None
        """What is wrong with the znode as it was read last; `state` is what stood there before."""
        self.is_fresh = False
        """Whether it has been read in this session, behind whatever anyone was told before the session began."""
        self._is_caught_up = False
        self._watched = WatchedZnode(session, asks, GetData(path, watch=True), taken=self._take, failed=failed)
        session.on_state(self._take_state)

    @property
    def epoch(self) -> int | None:
        """The version of the znode that `state` was read from; None without one."""
        return None if self._znode is None else self._znode.version

    def catch_up(self) -> None:
        """Take note that a write of this session has been answered, and read the znode again."""
        self._is_caught_up = True
        self.read()

    def read(self) -> None:
        """Read the znode again."""
        self._watched.read()

    def when_epoch(self, epoch: int, then: Callable[[], None]) -> None:
        """Call `then` as soon as the znode is known in this version or a later one, perhaps at once."""
        if self.epoch is not None and self.epoch >= epoch:
            then()
            return
        self._waiting.append((epoch, then))
        # The watch tells of it, unless it is lost.
        self.read()

    def _take_state(self, state: SessionState) -> None:
        if state is SessionState.EXPIRED:
            self.is_fresh = self._is_caught_up = False
        elif state is not SessionState.SUSPENDED:
            self.read()

    def _take(self, znode: Znode | Children | None) -> None:
        assert znode is None or isinstance(znode, Znode), "its data was asked for"
        if znode is None and not self._is_caught_up:
            # It may be there, on servers that do not lag behind.
            return
        was_fresh = self.is_fresh or not self._is_caught_up
        self.is_fresh = self._is_caught_up
        before, fault_before = self._znode, str(self.fault)
        if znode is None:
            self.fault = None
            has_changed = before is not None
            self._znode = self.state = None
        else:
            # Another server may lag behind the one that was read from in the session before.
            is_older = before is not None and (znode.czxid, znode.version) < (before.czxid, before.version)
            has_changed = not is_older and self._take_data(znode)
        if has_changed or not was_fresh or str(self.fault) != fault_before:
            self._on_change()
        self._tell_waiting()

    def _take_data(self, znode: Znode) -> bool:
        """Take in what stands in the znode, and say whether anything is another."""
        before = self._znode
        try:
            state = decode_features(znode.data, self._path)
        except ZnodeError as error:
            if str(error) != str(self.fault):
                self._effects(Fact("error", "features-unreadable", {"reason": str(error)}))
            self.fault = error
            return False
        self.fault = None
        self._znode, self.state = znode, state
        return before is None or (znode.version, znode.czxid) != (before.version, before.czxid)

    def _tell_waiting(self) -> None:
        epoch = self.epoch
        if epoch is None:
            return
        due = [then for wanted, then in self._waiting if wanted <= epoch]
        self._waiting = [entry for entry in self._waiting if entry[0] > epoch]
        for then in due:
            then()
