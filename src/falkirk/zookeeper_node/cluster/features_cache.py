"""The finalized features as this node knows them: the znode of features, watched (KIP-584, client discovery).

It is read when the session is connected, when its watch fires, and on `read`, because a watch may be lost. The last
reading stays while the session is gone: clients get what was true.

The server of a new session may lag behind the previous one, but not behind this session's own writes. So decisions that
depend on finalized features wait until they were read after a write (`catch_up`, `is_fresh`).

Differs from Kafka: a malformed znode changes nothing, where Kafka drops the finalized features. The controller finds
the same fault, and writes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.metadata.zookeeper.features_znode import decode_features
from falkirk.node.effects import Fact
from falkirk.zookeeper_node.session.exchange import SessionState
from falkirk.zookeeper_node.session.operations import GetData, Znode
from falkirk.zookeeper_node.session.watched_znode import WatchedZnode

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.zookeeper.finalized_features import FeatureState
    from falkirk.node.effects import Effect
    from falkirk.zookeeper_node.session.operations import Children, Failed
    from falkirk.zookeeper_node.session.retries import Retries
    from falkirk.zookeeper_node.session.session import Session


class FeaturesCache:
    """The last reading. `on_change` is called when state, epoch or fault have changed, and at the first reading."""

    def __init__(
        self,
        session: Session,
        retries: Retries,
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
        self.last_epoch = -1
        """The highest version of the znode that was read, of any that was deleted since, too; -1: none was."""
        self.state: FeatureState | None = None
        """None: the znode is not there, or was never read."""
        self.fault: ZnodeError | None = None
        """What is malformed in the last reading; `state` is from before."""
        self.is_fresh = False
        """True if it was read in this session, at or after everything that was written before the session."""
        self._is_caught_up = False
        self._watched = WatchedZnode(session, retries, GetData(path, watch=True), on_read=self._apply, failed=failed)
        session.on_state(self._state_changed)

    @property
    def epoch(self) -> int | None:
        """The version of the znode that `state` was read from; None without one."""
        return None if self._znode is None else self._znode.version

    def catch_up(self) -> None:
        """Read the znode again after a write of this session was answered."""
        self._is_caught_up = True
        self.read()

    def read(self) -> None:
        """Read the znode again."""
        self._watched.read()

    def when_epoch(self, epoch: int, then: Callable[[], None]) -> None:
        """Call `then` as soon as this version of the znode, or a later one, is known, perhaps at once."""
        if self.epoch is not None and self.epoch >= epoch:
            then()
            return
        self._waiting.append((epoch, then))
        # The watch fires, unless it is lost.
        self.read()

    def _state_changed(self, state: SessionState) -> None:
        if state is SessionState.EXPIRED:
            self.is_fresh = self._is_caught_up = False
        elif state is not SessionState.SUSPENDED:
            self.read()

    def _apply(self, znode: Znode | Children | None) -> None:
        assert znode is None or isinstance(znode, Znode), "its data was asked for"
        if znode is None and not self._is_caught_up:
            # It may exist on servers that do not lag.
            return
        was_fresh = self.is_fresh or not self._is_caught_up
        self.is_fresh = self._is_caught_up
        before, fault_before = self._znode, str(self.fault)
        if znode is None:
            self.fault = None
            has_changed = before is not None
            self._znode = self.state = None
        else:
            # This server may lag behind that of the previous session.
            is_older = before is not None and (znode.czxid, znode.version) < (before.czxid, before.version)
            has_changed = not is_older and self._apply_data(znode)
        if has_changed or not was_fresh or str(self.fault) != fault_before:
            self._on_change()
        self._call_waiting()

    def _apply_data(self, znode: Znode) -> bool:
        """Decode the znode, and return whether anything has changed."""
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
        self.last_epoch = max(self.last_epoch, znode.version)
        return before is None or (znode.version, znode.czxid) != (before.version, before.czxid)

    def _call_waiting(self) -> None:
        epoch = self.epoch
        if epoch is None:
            return
        due = [then for wanted, then in self._waiting if wanted <= epoch]
        self._waiting = [entry for entry in self._waiting if entry[0] > epoch]
        for then in due:
            then()
