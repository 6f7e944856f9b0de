"""A node's sessions with ZooKeeper, by kazoo. Needs the extra `zookeeper`.

One client of kazoo's for each session: kazoo would begin another one by itself when a session has expired, and the node
is to decide that. A client has one thread. What it calls back is called by that thread in the order in which it
happened (`_DirectHandler`), and handed to the loop, so that the node hears answers, watches and states in that order.

While there is no connection operations wait. An operation that was on its way when a connection broke is answered with
CONNECTION_LOSS, and not tried again: nobody knows whether it was done.

Kazoo's watches end with a connection. Once there is one again the node is told a change of everything that it watched:
something may have changed meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, assert_never

from kazoo.client import KazooClient
from kazoo.exceptions import WriterNotClosedException
from kazoo.protocol.states import EventType, KazooState, KeeperState

from falkirk.node.effects import Fact
from falkirk.server.zookeeper_client import SecuredHandler, acls, sasl_options, tls_context
from falkirk.server.zookeeper_operations import ZooKeeperOperations
from falkirk.zookeeper_node.config.zookeeper_security import ZooKeeperSecurity
from falkirk.zookeeper_node.session.exchange import (
    AskZooKeeper,
    CloseSession,
    OpenSession,
    SessionChanged,
    SessionState,
    ZnodeChanged,
    ZooKeeperAnswered,
)
from falkirk.zookeeper_node.session.operations import Create, Failed, GetChildren, GetData, KeeperError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from kazoo.exceptions import KazooException
    from kazoo.protocol.states import WatchedEvent

    from falkirk.server.fact_log import FactLog
    from falkirk.zookeeper_node.session.exchange import ZooKeeperEffect, ZooKeeperEvent
    from falkirk.zookeeper_node.session.operations import Answer

_CLOSE_TIMEOUT_S: Final = 2.0
_REOPEN_S: Final = 0.5
_TRIES_MAX: Final = 4
# How long a busy server may take.
_TRY_MS_MIN: Final = 2_000
# The interval of Kafka's client.
_RECONNECT_MAX_S: Final = 1.0


class ZooKeeperSession:
    """Carries out what a node wants of ZooKeeper. Everything but kazoo's threads happens on the running loop.

    `connect`: as zookeeper.connect has it, with its chroot, which is made if it is not there. `tell` takes events.
    Raises ConfigError if what TLS needs cannot be read.
    """

    def __init__(
        self,
        connect: str,
        *,
        session_timeout_ms: int,
        in_flight_max: int,
        tell: Callable[[ZooKeeperEvent], None],
        log: FactLog,
        security: ZooKeeperSecurity | None = None,
    ) -> None:
        self._connect = connect
        self._security = security or ZooKeeperSecurity()
        self._tls = tls_context(self._security)
        self._timeout_ms = session_timeout_ms
        self._in_flight_max = in_flight_max
        self._tell = tell
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._current: _Client | None = None
        self._opening: asyncio.TimerHandle | None = None
        self._may_open_at = 0.0
        self._ending: set[asyncio.Future[None]] = set()

    def execute(self, effect: ZooKeeperEffect) -> None:
        """Execute an effect; its result is reported later, never before this returns."""
        match effect:
            case OpenSession():
                # Do not spin if sessions end as soon as they begin.
                self._opening = self._loop.call_at(max(self._loop.time(), self._may_open_at), self._open)
            case CloseSession():
                self._end()
            case AskZooKeeper():
                if self._current is None:
                    self._tell(ZooKeeperAnswered(effect.request_id, Failed(KeeperError.SESSION_EXPIRED)))
                else:
                    self._current.ask(effect)
            case _:
                assert_never(effect)

    async def close(self) -> None:
        """End what is there, and wait a moment for kazoo's threads; one that hangs is left behind."""
        self._end()
        if self._ending:
            await asyncio.wait(self._ending, timeout=_CLOSE_TIMEOUT_S)

    def _open(self) -> None:
        assert self._current is None, "one session at a time"
        self._may_open_at = self._loop.time() + _REOPEN_S
        self._current = _Client(
            self._connect,
            session_timeout_ms=self._timeout_ms,
            in_flight_max=self._in_flight_max,
            tell=self._receive,
            log=self._log,
            security=self._security,
            tls=self._tls,
        )

    def _receive(self, event: ZooKeeperEvent) -> None:
        if isinstance(event, SessionChanged) and event.state is SessionState.EXPIRED:
            self._end()
        self._tell(event)

    def _end(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
        if self._current is not None:
            ended = self._current.end()
            self._ending.add(ended)
            ended.add_done_callback(self._ending.discard)
            self._current = None


class _Client:
    """One session, from its first connection to its end."""

    def __init__(
        self,
        connect: str,
        *,
        session_timeout_ms: int,
        in_flight_max: int,
        tell: Callable[[ZooKeeperEvent], None],
        log: FactLog,
        security: ZooKeeperSecurity,
        tls: ssl.SSLContext | None,
    ) -> None:
        hosts, slash, chroot = connect.partition("/")
        self._chroot = (slash + chroot).rstrip("/")
        self._in_flight_max = in_flight_max
        self._tell = tell
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._is_over = False
        self._is_connected = False
        self._session_id = 0
        self._has_chroot = not self._chroot
        # Requests that wait, and requests in flight.
        self._waiting: deque[AskZooKeeper] = deque()
        self._begun: set[int] = set()
        # Watched paths: of data, and of children. Dictionaries, for their order.
        self._watched_data: dict[str, None] = {}
        self._watched_children: dict[str, None] = {}
        # Kazoo's messages since the last connection: it repeats them at each attempt.
        self._logged: set[str] = set()
        self._client = KazooClient(
            _often(hosts, session_timeout_ms),
            timeout=session_timeout_ms / 1000,
            handler=_DirectHandler(tls, self._post_failure),
            use_ssl=tls is not None,
            sasl_options=sasl_options(security),
            read_only=True,
            connection_retry={"max_tries": -1, "delay": 0.1, "max_delay": _RECONNECT_MAX_S},
            logger=_logger(self._post_message),
        )
        self._acls = partial(acls, security)
        self._operations = ZooKeeperOperations(
            self._client,
            self._chroot,
            on_data=self._post_data_change,
            on_children=self._post_child_change,
            acls=self._acls,
        )
        self._client.add_listener(self._post_state)
        self._client.start_async()

    def ask(self, request: AskZooKeeper) -> None:
        """Send a request in its turn."""
        self._waiting.append(request)
        self._begin_waiting()

    def end(self) -> asyncio.Future[None]:
        """Close the session, and report nothing more. The future is done when nothing is left of it."""
        self._is_over = True
        ended: asyncio.Future[None] = self._loop.create_future()
        threading.Thread(target=self._stop, args=(ended,), name="zookeeper-close", daemon=True).start()
        return ended

    # --- Called by other threads

    def _stop(self, ended: asyncio.Future[None]) -> None:
        """Close the session, which waits for the server, and for kazoo's thread."""
        with suppress(WriterNotClosedException):
            self._client.stop()
            self._client.close()
        self._post(_finish, ended)

    def _post_state(self, state: KazooState) -> None:
        is_read_only = self._client.client_state == KeeperState.CONNECTED_RO
        session_id, _ = self._client.client_id or (0, b"")
        self._post(self._change_state, state, is_read_only, session_id)

    def _post_data_change(self, event: WatchedEvent) -> None:
        if event.type != EventType.NONE:
            self._post(self._tell_change, self._watched_data, event.path)

    def _post_child_change(self, event: WatchedEvent) -> None:
        if event.type != EventType.NONE:
            self._post(self._tell_change, self._watched_children, event.path)

    def _post_failure(self, error: KazooException) -> None:
        self._post(self._write_message, type(error).__name__)
        self._post(self._change_state, KazooState.LOST, False, 0)

    def _post_message(self, message: str) -> None:
        self._post(self._write_message, message)

    def _post(self, call: Callable[..., None], *args: Any) -> None:  # Any: what `call` takes
        # The loop may have ended.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *args)

    # --- On the loop

    def _change_state(self, state: KazooState, is_read_only: bool, session_id: int) -> None:  # noqa: FBT001 - by `_post`
        if self._is_over:
            return
        self._is_connected = state == KazooState.CONNECTED
        if state == KazooState.LOST:
            self._tell(SessionChanged(SessionState.EXPIRED))
        elif state == KazooState.SUSPENDED:
            self._tell(SessionChanged(SessionState.SUSPENDED, self._session_id))
        else:
            self._logged.clear()
            if not is_read_only and not self._has_chroot:
                self._make_chroot()
            self._session_id = session_id
            state_now = SessionState.READ_ONLY if is_read_only else SessionState.CONNECTED
            self._tell(SessionChanged(state_now, session_id))
            self._tell_lost_watches()
            self._begin_waiting()

    def _tell_lost_watches(self) -> None:
        lost = dict.fromkeys((*self._watched_data, *self._watched_children))
        self._watched_data.clear()
        self._watched_children.clear()
        for path in lost:
            self._tell(ZnodeChanged(path))

    def _begin_waiting(self) -> None:
        while self._is_connected and self._waiting and len(self._begun) < self._in_flight_max:
            request = self._waiting.popleft()
            self._begun.add(request.request_id)
            match request.operation:
                case GetData(path, watch=True):
                    self._watched_data[path] = None
                case GetChildren(path, watch=True):
                    self._watched_children[path] = None
            self._operations.begin(request.operation, partial(self._post, self._answer, request.request_id))

    def _answer(self, request_id: int, answer: Answer) -> None:
        # Kazoo completes a request twice that is sent while it closes.
        if self._is_over or request_id not in self._begun:
            return
        self._begun.remove(request_id)
        self._tell(ZooKeeperAnswered(request_id, answer))
        self._begin_waiting()

    def _tell_change(self, watched: dict[str, None], full_path: str) -> None:
        if not self._is_over:
            path = full_path.removeprefix(self._chroot) or "/"
            watched.pop(path, None)
            self._tell(ZnodeChanged(path))

    def _make_chroot(self) -> None:
        """Make what is not there of the chroot: before anything that the node asks, as requests keep their order."""
        names = self._chroot.split("/")[1:]
        operations = ZooKeeperOperations(self._client, "", on_data=_ignore, on_children=_ignore, acls=self._acls)
        for end in range(1, len(names) + 1):
            path = "/" + "/".join(names[:end])
            operations.begin(Create(path, b""), partial(self._post, self._check_chroot, path))

    def _check_chroot(self, path: str, answer: Answer) -> None:
        if not isinstance(answer, Failed) or answer.refusal is KeeperError.NODE_EXISTS:
            self._has_chroot = self._has_chroot or path == self._chroot
        elif answer.refusal is not KeeperError.CONNECTION_LOSS:
            reason = answer.detail or answer.refusal.value
            self._log.write(Fact("error", f"ZooKeeper: the chroot {path} cannot be made", {"reason": reason}))

    def _write_message(self, message: str) -> None:
        if not self._is_over and message not in self._logged:
            self._logged.add(message)
            self._log.write(Fact("warning", f"ZooKeeper: {message}"))


class _DirectHandler(SecuredHandler):
    """Has no threads of its own for callbacks: they only hand on to the loop, so kazoo's one thread calls them itself.

    With two threads, one for answers and one for watches, their order would be lost.
    """

    def __init__(self, tls: ssl.SSLContext | None, failed: Callable[[KazooException], None]) -> None:
        super().__init__(tls, failed)
        self.completion_queue = _Caller()

    @property
    def running(self) -> bool:
        return True

    def start(self) -> None:
        """There is nothing to start."""

    def stop(self) -> None:
        """There is nothing to stop."""

    def dispatch_callback(self, callback: Any) -> None:  # Any: kazoo has no types
        """Call it."""
        callback.func(*callback.args)


class _Caller:
    """Stands where kazoo has a queue of calls."""

    def put(self, call: Callable[[], None]) -> None:
        """Call it."""
        call()


class _Messages(logging.Handler):
    """Passes on what kazoo logs as text."""

    def __init__(self, post: Callable[[str], None]) -> None:
        super().__init__()
        self._post = post

    def emit(self, record: logging.LogRecord) -> None:
        """Hand on one line. Of an exception not kazoo's own words: they may tell a session's password."""
        error = record.exc_info[1] if record.exc_info else None
        self._post(record.getMessage() if error is None else f"{type(error).__name__}: {error}")


def _often(hosts: str, session_timeout_ms: int) -> str:
    """Name the hosts often enough for several tries to connect within a session.

    Kazoo, as Java's client, waits for a session divided by the number of hosts. A server that is just coming up may
    leave a connection without an answer, and with one host the session would be over before the next try.
    """
    names = hosts.split(",")
    tries = min(_TRIES_MAX, session_timeout_ms // _TRY_MS_MIN)
    return ",".join(names * max(1, -(-tries // len(names))))


def _logger(post: Callable[[str], None]) -> logging.Logger:
    """Make a logger that nobody else knows: it has no parent, so that nothing gets to the root logger."""
    logger = logging.Logger("kazoo", logging.WARNING)  # noqa: LOG001 - see above
    logger.addHandler(_Messages(post))
    return logger


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _ignore(_event: WatchedEvent) -> None:
    pass
