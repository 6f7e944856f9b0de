"""An in-memory ZooKeeper: a tree of znodes, sessions, and one-time watches.

It answers at once and never fails; the faults between a node and its ZooKeeper are in `session_link`. It answers like a
real one, which a test verifies by sending both the same operations. Source: ZooKeeper's programmer's guide.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, assert_never

from falkirk.zookeeper_node.session.operations import (
    ANY_VERSION,
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

    from falkirk.zookeeper_node.session.operations import Answer, Operation

BY_HAND: Final = 0
"""The session of an operator with a shell; it never expires."""
_Write = Create | SetData | Delete | CheckVersion


@dataclass(frozen=True, slots=True)
class Change:
    """A znode's change in a transaction: `after` is None if it was deleted, `before` if it was created."""

    path: str
    before: Znode | None
    after: Znode | None


@dataclass(frozen=True, slots=True)
class Transaction:
    """The changes of one transaction, and its session. Ending a session is a transaction that deletes its znodes."""

    zxid: int
    session_id: int
    changes: tuple[Change, ...]


@dataclass(slots=True)
class _Session:
    timeout_ms: int
    last_contact_ms: int
    notify: "Callable[[str], None]"
    data_watches: dict[str, None] = field(default_factory=dict)
    child_watches: dict[str, None] = field(default_factory=dict)


class Ensemble:
    """All servers as one. Paths are absolute; "/" always exists."""

    def __init__(self) -> None:
        self.zxid = 0
        # Called after each transaction that changed something.
        self.observers: list[Callable[[Transaction], None]] = []
        self._znodes: dict[str, Znode] = {"/": Znode(b"", 0, 0)}
        self._children: dict[str, dict[str, None]] = {"/": {}}
        self._sessions: dict[int, _Session] = {}
        self._next_session_id = 1

    # --- Sessions

    def open_session(self, timeout_ms: int, now_ms: int, notify: Callable[[str], None]) -> int:
        """Open a session and return its id. `notify` is called with the path of each watch that fires."""
        session_id = self._next_session_id
        self._next_session_id += 1
        self.zxid += 1
        self._sessions[session_id] = _Session(timeout_ms, now_ms, notify)
        return session_id

    def is_open(self, session_id: int) -> bool:
        """Return whether a session is alive."""
        return session_id == BY_HAND or session_id in self._sessions

    def hear_from(self, session_id: int, now_ms: int) -> bool:
        """Reset a session's timeout; return False if the session is over."""
        session = self._sessions.get(session_id)
        if session is None:
            return False
        session.last_contact_ms = now_ms
        return True

    def end_session(self, session_id: int) -> None:
        """End a closed or expired session: its ephemeral znodes and watches are removed."""
        if self._sessions.pop(session_id, None) is None:
            return
        mine = [path for path, znode in self._znodes.items() if znode.ephemeral_owner == session_id]
        self._commit(session_id, [Delete(path) for path in sorted(mine)])

    def expire_silent(self, now_ms: int) -> tuple[int, ...]:
        """End the sessions that were silent for their timeout, and return their ids."""
        silent = [
            session_id
            for session_id, session in self._sessions.items()
            if now_ms - session.last_contact_ms >= session.timeout_ms
        ]
        for session_id in silent:
            self.end_session(session_id)
        return tuple(silent)

    def forget_watches(self, session_id: int) -> bool:
        """Lose a session's watches, a fault; return whether there were any."""
        session = self._sessions.get(session_id)
        if session is None or not (session.data_watches or session.child_watches):
            return False
        session.data_watches.clear()
        session.child_watches.clear()
        return True

    # --- Operations

    def znode(self, path: str) -> Znode | None:
        """Return a znode; None if it does not exist."""
        return self._znodes.get(path)

    def as_it_stands(self) -> Ensemble:
        """Return a copy for a server that is cut off from the others: the tree, without sessions."""
        copy = Ensemble()
        copy.zxid = self.zxid
        copy._znodes = dict(self._znodes)
        copy._children = {path: dict(names) for path, names in self._children.items()}
        return copy

    def ask(self, session_id: int, operation: Operation) -> Answer:
        """Execute an operation; the watches that it fires are notified before this returns."""
        if not self.is_open(session_id):
            return Failed(KeeperError.SESSION_EXPIRED)
        match operation:
            case GetData(path, watch):
                if watch:
                    self._sessions[session_id].data_watches[path] = None
                return self._znodes.get(path) or Failed(KeeperError.NO_NODE)
            case GetChildren(path, watch):
                if path not in self._znodes:
                    return Failed(KeeperError.NO_NODE)
                if watch:
                    self._sessions[session_id].child_watches[path] = None
                return Children(tuple(sorted(self._children[path])))
            case Multi(parts):
                return self._write(session_id, parts, is_multi=True)
            case _:
                return self._write(session_id, (operation,), is_multi=False)

    def _write(self, session_id: int, parts: tuple[_Write, ...], *, is_multi: bool) -> Answer:
        draft = _Draft(self._znodes, self._children, self.zxid + 1, session_id)
        answer: Answer = Done()
        for number, part in enumerate(parts):
            answer = draft.write(part)
            if isinstance(answer, Failed):
                return Failed(answer.refusal, number, answer.detail) if is_multi else answer
        self._commit(session_id, parts)
        return answer

    def _commit(self, session_id: int, parts: tuple[_Write, ...] | list[Delete]) -> None:
        """Apply operations that have been validated."""
        self.zxid += 1
        changes: list[Change] = []
        for part in parts:
            if not isinstance(part, CheckVersion):
                before = self._znodes.get(part.path)
                after = _written(part, before, self.zxid, session_id)
                self._put(part.path, after)
                changes.append(Change(part.path, before, after))
        if changes:
            for change in changes:
                self._notify(change)
            transaction = Transaction(self.zxid, session_id, tuple(changes))
            for observe in self.observers:
                observe(transaction)

    def _put(self, path: str, znode: Znode | None) -> None:
        parent, name = parent_and_name(path)
        if znode is None:
            del self._znodes[path], self._children[path], self._children[parent][name]
        else:
            self._znodes[path] = znode
            self._children.setdefault(path, {})
            self._children[parent][name] = None

    def _notify(self, change: Change) -> None:
        """Fire the watches of a change, once per session and path."""
        parent, _ = parent_and_name(change.path)
        for session in list(self._sessions.values()):
            is_notified = change.path in session.data_watches
            session.data_watches.pop(change.path, None)
            if change.after is None:
                is_notified |= change.path in session.child_watches
                session.child_watches.pop(change.path, None)
            if is_notified:
                session.notify(change.path)
            if (change.before is None or change.after is None) and parent in session.child_watches:
                del session.child_watches[parent]
                session.notify(parent)


class _Draft:
    """The tree as a transaction would leave it, operation by operation."""

    def __init__(
        self, znodes: dict[str, Znode], children: dict[str, dict[str, None]], zxid: int, session_id: int
    ) -> None:
        self._znodes = znodes
        self._children = children
        self._zxid = zxid
        self._session_id = session_id
        self._drafted: dict[str, Znode | None] = {}

    def write(self, part: _Write) -> Answer:
        """Apply one operation, or return its error."""
        refusal = self._refusal(part)
        if refusal is not None:
            return refusal
        if isinstance(part, CheckVersion):
            return Done()
        after = _written(part, self._get(part.path), self._zxid, self._session_id)
        self._drafted[part.path] = after
        return Done(after.version if isinstance(part, SetData) and after is not None else 0)

    def _get(self, path: str) -> Znode | None:
        return self._drafted[path] if path in self._drafted else self._znodes.get(path)

    def _has_children(self, path: str) -> bool:
        stored = any(self._get(_below(path, name)) is not None for name in self._children.get(path, ()))
        return stored or any(
            znode is not None and parent_and_name(other)[0] == path for other, znode in self._drafted.items()
        )

    def _refusal(self, part: _Write) -> Failed | None:
        existing = self._get(part.path)
        if isinstance(part, Create):
            return self._creation_refusal(part.path, existing)
        if existing is None:
            return Failed(KeeperError.NO_NODE)
        if part.version not in (ANY_VERSION, existing.version):
            return Failed(KeeperError.BAD_VERSION)
        if isinstance(part, Delete) and self._has_children(part.path):
            return Failed(KeeperError.OTHER, detail="NotEmpty")
        return None

    def _creation_refusal(self, path: str, existing: Znode | None) -> Failed | None:
        parent = self._get(parent_and_name(path)[0])
        if parent is None:
            return Failed(KeeperError.NO_NODE)
        if existing is not None:
            return Failed(KeeperError.NODE_EXISTS)
        if parent.ephemeral_owner:
            return Failed(KeeperError.OTHER, detail="NoChildrenForEphemerals")
        return None


def parent_and_name(path: str) -> tuple[str, str]:
    """Split a path other than "/"."""
    parent, _, name = path.rpartition("/")
    return parent or "/", name


def _below(path: str, name: str) -> str:
    return f"/{name}" if path == "/" else f"{path}/{name}"


def _written(part: Create | SetData | Delete, before: Znode | None, zxid: int, session_id: int) -> Znode | None:
    match part:
        case Create(_, data, ephemeral):
            return Znode(data, 0, zxid, session_id if ephemeral else 0)
        case SetData(_, data, _):
            assert before is not None, "a part that cannot be is refused"
            return Znode(data, before.version + 1, before.czxid, before.ephemeral_owner)
        case Delete():
            return None
        case _:
            assert_never(part)
