"""The brokers that are registered, as this node knows them: `/brokers/ids` and every znode below it, watched.

A broker whose znode cannot be meant counts as none, and is told of in one line; so does one that went while it was
read. What is known stays known while the session is gone.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from falkirk.metadata.zookeeper.broker_znode import BROKER_IDS_PATH, BrokerZnode, broker_path, decode_broker
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.node.effects import Fact
from falkirk.node.zookeeper.exchange import SessionState
from falkirk.node.zookeeper.operations import Children, GetChildren, GetData, Znode
from falkirk.node.zookeeper.watched_znode import WatchedZnode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.zookeeper.finalized_features import Supported
    from falkirk.node.effects import Effect
    from falkirk.node.zookeeper.operations import Failed
    from falkirk.node.zookeeper.repeated_asks import RepeatedAsks
    from falkirk.node.zookeeper.session import Session


class LiveBrokers:
    """The last readings. `on_change` is told whenever a broker is new, gone or another one, once all are read."""

    def __init__(
        self,
        session: Session,
        asks: RepeatedAsks,
        *,
        on_change: Callable[[], None],
        failed: Callable[[str, Failed], None],
        effects: Callable[[Effect], None],
    ) -> None:
        self._session = session
        self._asks = asks
        self._on_change = on_change
        self._failed = failed
        self._effects = effects
        self._names: tuple[str, ...] | None = None
        self._watched: dict[int, WatchedZnode] = {}
        self._znodes: dict[int, Znode] = {}
        # Those that have been read, and what was wrong with them where anything was.
        self._faults: dict[int, str | None] = {}
        self._known: dict[int, BrokerZnode] = {}
        self._has_changed = False
        self.brokers: Mapping[int, BrokerZnode] = {}
        """By id, sorted; a new mapping after each change."""
        self._ids = WatchedZnode(
            session, asks, GetChildren(BROKER_IDS_PATH, watch=True), taken=self._take_ids, failed=failed
        )
        session.on_state(self._take_state)

    @property
    def is_known(self) -> bool:
        """Say whether all registered brokers have been read in this session."""
        return self._names is not None and self._faults.keys() == self._watched.keys()

    @property
    def supported(self) -> Mapping[int, Supported] | None:
        """What each broker supports, nothing if it does not tell; None before all are known."""
        if not self.is_known:
            return None
        return {broker_id: znode.features or {} for broker_id, znode in self.brokers.items()}

    def read(self) -> None:
        """Read all again."""
        self._ids.read()
        for watched in self._watched.values():
            watched.read()

    def _take_state(self, state: SessionState) -> None:
        if state is SessionState.EXPIRED:
            self._names = None
            self._faults.clear()
        elif state is not SessionState.SUSPENDED:
            self.read()

    def _take_ids(self, children: Znode | Children | None) -> None:
        assert children is None or isinstance(children, Children), "names were asked for"
        names = () if children is None else children.names
        if names != self._names:
            strange = [name for name in names if not _is_id(name)]
            if strange:
                fields = {"reason": f"znode {BROKER_IDS_PATH}: {', '.join(strange)} is no broker's id"}
                self._effects(Fact("error", "broker-unreadable", fields))
        if self._names is None:
            self._has_changed = True
        self._names = names
        ids = {int(name) for name in names if _is_id(name)}
        for broker_id in self._watched.keys() - ids:
            self._forget(broker_id)
        for broker_id in sorted(ids - self._watched.keys()):
            watched = self._watched[broker_id] = WatchedZnode(
                self._session,
                self._asks,
                GetData(broker_path(broker_id), watch=True),
                taken=partial(self._take_broker, broker_id),
                failed=self._failed,
            )
            watched.read()
        self._tell()

    def _forget(self, broker_id: int) -> None:
        self._watched.pop(broker_id).stop()
        self._znodes.pop(broker_id, None)
        self._faults.pop(broker_id, None)
        if self._known.pop(broker_id, None) is not None:
            self._has_changed = True

    def _take_broker(self, broker_id: int, znode: Znode | Children | None) -> None:
        assert znode is None or isinstance(znode, Znode), "its data was asked for"
        before = self._znodes.get(broker_id)
        is_same = znode is not None and before is not None and _identity(znode) == _identity(before)
        if is_same and broker_id in self._faults:
            return
        fault: str | None = None
        known = self._known.pop(broker_id, None)
        self._has_changed = self._has_changed or known is not None
        self._znodes.pop(broker_id, None)
        if znode is not None:
            self._znodes[broker_id] = znode
            try:
                self._known[broker_id] = decode_broker(znode.data, broker_path(broker_id))
                self._has_changed = True
            except ZnodeError as error:
                fault = str(error)
                self._effects(Fact("error", "broker-unreadable", {"reason": fault}))
        self._faults[broker_id] = fault
        self._tell()

    def _tell(self) -> None:
        """Tell of changes, but not before a broker that is new has been read."""
        if self._has_changed and self.is_known:
            self._has_changed = False
            self.brokers = dict(sorted(self._known.items()))
            self._on_change()


def _is_id(name: str) -> bool:
    return name.isascii() and name.isdigit() and str(int(name)) == name and int(name) < 1 << 31


def _identity(znode: Znode) -> tuple[int, int]:
    return znode.czxid, znode.version
