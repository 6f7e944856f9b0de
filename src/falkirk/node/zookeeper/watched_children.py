"""All znodes below one, watched; each is read again when it has changed, and no other is."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from falkirk.node.zookeeper.exchange import SessionState
from falkirk.node.zookeeper.operations import Children, GetChildren, GetData, Znode
from falkirk.node.zookeeper.watched_znode import WatchedZnode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.node.zookeeper.operations import Failed
    from falkirk.node.zookeeper.repeated_asks import RepeatedAsks
    from falkirk.node.zookeeper.session import Session

T = TypeVar("T")


class WatchedChildren(Generic[T]):
    """`taken` gets all of them by name, whenever one is new, gone or another one, once all have been read.

    Each is what `decode` makes of its name and data, once for every change. They are read when the session is
    connected, too, and taken once in each session, even if nothing has changed. One that went while it was read counts
    as gone. `failed`: as for WatchedZnode.
    """

    def __init__(
        self,
        session: Session,
        asks: RepeatedAsks,
        path: str,
        *,
        decode: Callable[[str, bytes], T],
        taken: Callable[[Mapping[str, T]], None],
        failed: Callable[[str, Failed], None],
    ) -> None:
        self._session = session
        self._asks = asks
        self._path = path
        self._decode = decode
        self._taken = taken
        self._failed = failed
        self._watched: dict[str, WatchedZnode] = {}
        # Those that are there, as they were read.
        self._identities: dict[str, tuple[int, int]] = {}
        self._decoded: dict[str, T] = {}
        # Names whose znodes have not been read in this session; None: nor have the names.
        self._unread: set[str] | None = None
        self._has_changed = True
        self._names = WatchedZnode(session, asks, GetChildren(path, watch=True), taken=self._take_names, failed=failed)
        session.on_state(self._take_state)

    @property
    def is_known(self) -> bool:
        """Say whether all have been read in this session."""
        return self._unread is not None and not self._unread

    def read(self) -> None:
        """Read all again."""
        self._names.read()
        for watched in self._watched.values():
            watched.read()

    def _take_state(self, state: SessionState) -> None:
        if state is SessionState.EXPIRED:
            self._unread = None
            self._has_changed = True
        elif state is not SessionState.SUSPENDED:
            self.read()

    def _take_names(self, children: Znode | Children | None) -> None:
        assert children is None or isinstance(children, Children), "names were asked for"
        names = set() if children is None else set(children.names)
        if self._unread is None:
            self._unread = names & self._watched.keys()
        for name in self._watched.keys() - names:
            self._watched.pop(name).stop()
            self._unread.discard(name)
            self._forget(name)
        for name in sorted(names - self._watched.keys()):
            self._unread.add(name)
            watched = self._watched[name] = WatchedZnode(
                self._session,
                self._asks,
                GetData(f"{self._path}/{name}", watch=True),
                taken=partial(self._take_znode, name),
                failed=self._failed,
            )
            watched.read()
        self._tell()

    def _take_znode(self, name: str, znode: Znode | Children | None) -> None:
        assert znode is None or isinstance(znode, Znode), "its data was asked for"
        if znode is None:
            self._forget(name)
        elif self._identities.get(name) != (znode.czxid, znode.version):
            self._identities[name] = (znode.czxid, znode.version)
            self._decoded[name] = self._decode(name, znode.data)
            self._has_changed = True
        if self._unread is not None:
            self._unread.discard(name)
        self._tell()

    def _forget(self, name: str) -> None:
        if self._identities.pop(name, None) is not None:
            del self._decoded[name]
            self._has_changed = True

    def _tell(self) -> None:
        if self._has_changed and self.is_known:
            self._has_changed = False
            self._taken(dict(self._decoded))
