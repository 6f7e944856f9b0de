"""All znodes below one, watched; each is read again only when it has changed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from falkirk.zookeeper_node.session.exchange import SessionState
from falkirk.zookeeper_node.session.operations import Children, GetChildren, GetData, Znode
from falkirk.zookeeper_node.session.watched_znode import WatchedZnode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.zookeeper_node.session.operations import Failed
    from falkirk.zookeeper_node.session.retries import Retries
    from falkirk.zookeeper_node.session.session import Session

T = TypeVar("T")


class WatchedChildren(Generic[T]):
    """`on_read` gets all of them by name when one was added, removed or changed, after all have been read.

    Values are what `decode` returns for name and data, once per change. They are also read when the session is
    connected, and passed to `on_read` once in each session even without a change. A znode that is deleted while it is
    read counts as removed. `failed`: as for WatchedZnode.
    """

    def __init__(
        self,
        session: Session,
        retries: Retries,
        path: str,
        *,
        decode: Callable[[str, bytes], T],
        on_read: Callable[[Mapping[str, T]], None],
        failed: Callable[[str, Failed], None],
    ) -> None:
        self._session = session
        self._retries = retries
        self._path = path
        self._decode = decode
        self._on_read = on_read
        self._failed = failed
        self._watched: dict[str, WatchedZnode] = {}
        # (czxid, version) by name, as read.
        self._identities: dict[str, tuple[int, int]] = {}
        self._decoded: dict[str, T] = {}
        # Names whose znodes have not been read in this session; None: the names have not been read either.
        self._unread: set[str] | None = None
        self._has_changed = True
        self._names = WatchedZnode(
            session, retries, GetChildren(path, watch=True), on_read=self._receive_names, failed=failed
        )
        session.on_state(self._state_changed)

    @property
    def is_known(self) -> bool:
        """True if all have been read in this session."""
        return self._unread is not None and not self._unread

    def read(self) -> None:
        """Read all again."""
        self._names.read()
        for watched in self._watched.values():
            watched.read()

    def _state_changed(self, state: SessionState) -> None:
        if state is SessionState.EXPIRED:
            self._unread = None
            self._has_changed = True
        elif state is not SessionState.SUSPENDED:
            self.read()

    def _receive_names(self, children: Znode | Children | None) -> None:
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
                self._retries,
                GetData(f"{self._path}/{name}", watch=True),
                on_read=partial(self._receive_znode, name),
                failed=self._failed,
            )
            watched.read()
        self._publish()

    def _receive_znode(self, name: str, znode: Znode | Children | None) -> None:
        assert znode is None or isinstance(znode, Znode), "its data was asked for"
        if znode is None:
            self._forget(name)
        elif self._identities.get(name) != (znode.czxid, znode.version):
            self._identities[name] = (znode.czxid, znode.version)
            self._decoded[name] = self._decode(name, znode.data)
            self._has_changed = True
        if self._unread is not None:
            self._unread.discard(name)
        self._publish()

    def _forget(self, name: str) -> None:
        if self._identities.pop(name, None) is not None:
            del self._decoded[name]
            self._has_changed = True

    def _publish(self) -> None:
        if self._has_changed and self.is_known:
            self._has_changed = False
            self._on_read(dict(self._decoded))
