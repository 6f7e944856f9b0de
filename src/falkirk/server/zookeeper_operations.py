"""A node's operations as calls of kazoo, and what kazoo makes of them as a node's answers. Needs the extra `zookeeper`.

Paths: the chroot is put before them here, and not by kazoo, which cannot make one that is not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, assert_never

from kazoo.exceptions import (
    BadVersionError,
    ConnectionLoss,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    NotReadOnlyCallError,
    OperationTimeoutError,
    RolledBackError,
    RuntimeInconsistency,
    SessionExpiredError,
)
from kazoo.protocol.states import ZnodeStat

from falkirk.zookeeper_node.session.operations import (
    CheckVersion,
    Children,
    Create,
    Delete,
    Done,
    Failed,
    GetChildren,
    GetData,
    KeeperError,
    Multi,
    SetData,
    Znode,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from kazoo.client import KazooClient
    from kazoo.interfaces import IAsyncResult
    from kazoo.protocol.states import WatchedEvent
    from kazoo.security import ACL

    from falkirk.zookeeper_node.session.operations import Answer, Operation

_REFUSALS: Final = {
    NoNodeError: KeeperError.NO_NODE,
    NodeExistsError: KeeperError.NODE_EXISTS,
    BadVersionError: KeeperError.BAD_VERSION,
    NotReadOnlyCallError: KeeperError.READ_ONLY,
    NoAuthError: KeeperError.NO_AUTH,
    ConnectionLoss: KeeperError.CONNECTION_LOSS,
    # Neither error tells whether the operation was applied.
    OperationTimeoutError: KeeperError.CONNECTION_LOSS,
    SessionExpiredError: KeeperError.SESSION_EXPIRED,
}


class ZooKeeperOperations:
    """Executes operations with a client. `on_data` and `on_children` are called when a watch fires.

    `acls`: those of a new znode, by its path below the chroot.

    Callbacks run on a thread of kazoo's.
    """

    def __init__(
        self,
        client: KazooClient,
        chroot: str,
        *,
        on_data: Callable[[WatchedEvent], None],
        on_children: Callable[[WatchedEvent], None],
        acls: Callable[[str], list[ACL] | None],
    ) -> None:
        self._client = client
        self._acls = acls
        self._chroot = chroot
        self._on_data = on_data
        self._on_children = on_children

    def begin(self, operation: Operation, then: Callable[[Answer], None]) -> None:
        """Send an operation. `then` is called once with the answer, in the order in which operations were begun."""
        match operation:
            case GetData(path, watch):
                self._begin_read(path, then, is_watched=watch)
            case GetChildren(path, watch):
                requested = self._client.get_children_async(self._full(path), self._on_children if watch else None)
                requested.rawlink(lambda result: then(_answer(result, _children)))
            case Create(path, data, ephemeral):
                requested = self._client.create_async(self._full(path), data, acl=self._acls(path), ephemeral=ephemeral)
                requested.rawlink(lambda result: then(_answer(result, _done)))
            case SetData(path, data, version):
                requested = self._client.set_async(self._full(path), data, version)
                requested.rawlink(lambda result: then(_answer(result, _done)))
            case Delete(path, version):
                requested = self._client.delete_async(self._full(path), version)
                requested.rawlink(lambda result: then(_answer(result, _done)))
            case Multi():
                self._begin_multi(operation, then)
            case _:
                assert_never(operation)

    def _begin_read(self, path: str, then: Callable[[Answer], None], *, is_watched: bool) -> None:
        """Read; before that leave a watch with `exists`, which waits for a znode that is not there, too.

        A connection that breaks between them may let the second be done without the first: then it is not told.
        """
        failures: list[Failed] = []

        def watched(result: IAsyncResult) -> None:
            if result.exception is not None:
                failures.append(_failed(result.exception))

        def read(result: IAsyncResult) -> None:
            then(failures[0] if failures else _answer(result, _znode))

        if is_watched:
            self._client.exists_async(self._full(path), self._on_data).rawlink(watched)
        self._client.get_async(self._full(path)).rawlink(read)

    def _begin_multi(self, operation: Multi, then: Callable[[Answer], None]) -> None:
        transaction = self._client.transaction()
        for part in operation.parts:
            path = self._full(part.path)
            match part:
                case Create(_, data, ephemeral):
                    transaction.create(path, data, acl=self._acls(part.path), ephemeral=ephemeral)
                case SetData(_, data, version):
                    transaction.set_data(path, data, version)
                case Delete(_, version):
                    transaction.delete(path, version)
                case CheckVersion(_, version):
                    transaction.check(path, version)
                case _:
                    assert_never(part)
        transaction.commit_async().rawlink(lambda result: then(_answer(result, _multi)))

    def _full(self, path: str) -> str:
        return self._chroot + path if path != "/" else self._chroot or "/"


def _answer(result: IAsyncResult, read: Callable[[Any], Answer]) -> Answer:  # Any: each request has its own
    return read(result.value) if result.exception is None else _failed(result.exception)


def _znode(value: tuple[bytes | None, ZnodeStat]) -> Answer:
    data, stat = value
    return Znode(data or b"", stat.version, stat.czxid, stat.ephemeralOwner)


def _children(names: list[str]) -> Answer:
    return Children(tuple(sorted(names)))


def _done(value: object) -> Answer:
    return Done(value.version if isinstance(value, ZnodeStat) else 0)


def _multi(results: list[object]) -> Answer:
    """Read the results of the parts. If one could not be, the others say that they were undone or not tried."""
    for part, result in enumerate(results):
        if isinstance(result, Exception) and not isinstance(result, RolledBackError | RuntimeInconsistency):
            failed = _failed(result)
            return Failed(failed.refusal, part, failed.detail)
    return _done(results[-1])


def _failed(error: BaseException) -> Failed:
    for kind, refusal in _REFUSALS.items():
        if isinstance(error, kind):
            return Failed(refusal)
    return Failed(KeeperError.OTHER, detail=type(error).__name__.removesuffix("Error"))
