"""When each broker was last heard of, and what a heartbeat leads to.

None of it is in the log: a new active controller starts with fresh sessions. What is in the log (registered, fenced)
is read from the image and never kept here, so the two cannot disagree.
Source: KIP-631, "The Broker State Machine"; Kafka's controller.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.protocol.messages import BrokerHeartbeatRequest


class BrokerControlState(enum.Enum):
    """The state of a broker as the controller sees it (Kafka's BrokerControlState)."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"  # unfenced, and giving its leaderships away
    SHUTDOWN_NOW = "shutdown now"  # fenced, and free to go

    @property
    def is_fenced(self) -> bool:
        """True if clients must not be sent to the broker."""
        return self in {BrokerControlState.FENCED, BrokerControlState.SHUTDOWN_NOW}


def next_state(
    current: BrokerControlState,
    request: BrokerHeartbeatRequest,
    *,
    is_caught_up: bool,
    has_leaderships: Callable[[], bool],
    others_are_caught_up: Callable[[], bool],
) -> BrokerControlState:
    """Return the state after a heartbeat.

    `is_caught_up`: the broker has read the log up to its registration. `others_are_caught_up`: all active brokers have
    read what the shutdown changed, so that no client is sent to this one any more. Both callables are asked only when
    it matters: they cost more than a heartbeat does.
    """
    if current is BrokerControlState.FENCED:
        if request.want_shut_down:
            return BrokerControlState.SHUTDOWN_NOW
        may_unfence = is_caught_up and not request.want_fence
        return BrokerControlState.UNFENCED if may_unfence else BrokerControlState.FENCED
    if current is BrokerControlState.CONTROLLED_SHUTDOWN:
        has_work_left = has_leaderships() or not others_are_caught_up()
        return BrokerControlState.CONTROLLED_SHUTDOWN if has_work_left else BrokerControlState.SHUTDOWN_NOW
    if not request.want_shut_down:
        return BrokerControlState.FENCED if request.want_fence else BrokerControlState.UNFENCED
    is_in_haste = request.want_fence or not has_leaderships()
    return BrokerControlState.SHUTDOWN_NOW if is_in_haste else BrokerControlState.CONTROLLED_SHUTDOWN


@dataclass(slots=True)
class BrokerSession:
    """A broker's life since it was first heard of in one of its epochs."""

    broker_epoch: int
    contact_ms: int
    # What the broker said it has read of the log; -1: it has not said anything yet.
    metadata_offset: int = -1
    # Offset of the last record of its controlled shutdown; None: it is not in one.
    shutdown_offset: int | None = None
    # Partitions are still being moved off it; then the offset is that of a slice before the last one.
    is_moving: bool = False
    # It was told that it may shut down.
    has_ended: bool = False


class BrokerHeartbeats:
    """The sessions by broker, the one longest unheard of first."""

    def __init__(self, session_timeout_ms: int) -> None:
        self._timeout_ms = session_timeout_ms
        # In order of contact: a broker that is heard of goes to the end.
        self._sessions: dict[int, BrokerSession] = {}
        # When those were last heard of whose sessions have timed out.
        self._gone_ms: dict[int, int] = {}

    def touch(self, broker_id: int, broker_epoch: int, now_ms: int) -> BrokerSession:
        """Record a contact with a broker and return its session; a new epoch starts a new session."""
        session = self._sessions.pop(broker_id, None)
        if session is None or session.broker_epoch != broker_epoch:
            session = BrokerSession(broker_epoch, now_ms)
        session.contact_ms = now_ms
        self._sessions[broker_id] = session
        self._gone_ms.pop(broker_id, None)
        return session

    def session(self, broker_id: int, broker_epoch: int) -> BrokerSession | None:
        """Return the session of a broker in this epoch, timed out or not."""
        session = self._sessions.get(broker_id)
        return session if session is not None and session.broker_epoch == broker_epoch else None

    def is_current(self, session: BrokerSession, now_ms: int) -> bool:
        """Return whether a session has not timed out."""
        return session.contact_ms + self._timeout_ms >= now_ms

    def first_expired(self, now_ms: int) -> tuple[int, BrokerSession] | None:
        """Return the broker with the oldest contact and its session if that session has timed out."""
        for broker_id, session in self._sessions.items():
            return None if self.is_current(session, now_ms) else (broker_id, session)
        return None

    def drop(self, broker_id: int, session: BrokerSession) -> None:
        """Forget a session, unless another one has taken its place."""
        if self._sessions.get(broker_id) is session:
            del self._sessions[broker_id]
            self._gone_ms[broker_id] = session.contact_ms

    @property
    def last_contact_ms(self) -> dict[int, int]:
        """Return the time of the last contact by broker id, without brokers that never made contact."""
        return {**self._gone_ms, **{broker_id: session.contact_ms for broker_id, session in self._sessions.items()}}

    @property
    def next_expiry_ms(self) -> int | None:
        """When a session times out that nobody renews; None: there are none."""
        for session in self._sessions.values():
            return session.contact_ms + self._timeout_ms + 1
        return None
