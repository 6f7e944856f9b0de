"""Epoch and leader, which every request and response of the quorum carries."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Protocol

from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode
from falkirk.raft.quorum import EPOCH_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.raft.context import RaftContext

_STALE = {ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER}
_RETRIED = {
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.INVALID_VOTER_KEY,
    ErrorCode.INVALID_REQUEST,
}


class NodeEndpoint(Protocol):
    """An endpoint in a response."""

    @property
    def node_id(self) -> int: ...  # noqa: D102

    @property
    def host(self) -> str: ...  # noqa: D102

    @property
    def port(self) -> int: ...  # noqa: D102


class Outcome(enum.Enum):
    """The outcome of handling a response. RETRY: as if the request had failed, the next one waits for the backoff."""

    DONE = enum.auto()
    RETRY = enum.auto()


def known_listeners(
    context: RaftContext, leader_id: int | None, endpoints: Iterable[NodeEndpoint]
) -> Mapping[str, Endpoint]:
    """Return the leader's endpoints: those of the response or, as older releases send none, those of the voter set."""
    if leader_id is None:
        return {}
    for each in endpoints:
        if each.node_id == leader_id:
            return {context.quorum.listener: Endpoint(each.host, each.port)}
    node = context.quorum.voters.nodes.get(leader_id)
    return {} if node is None else node.listeners


def learn_leader(
    context: RaftContext, leader_id: int | None, epoch: int, listeners: Mapping[str, Endpoint], now_ms: int
) -> bool:
    """Follow the leader named for an epoch that is not behind our own; return False if it cannot be true.

    Differs from Kafka: two leaders for one epoch end its process; ours keeps to the leader that it knows, and logs it.
    """
    quorum = context.quorum
    if epoch > max(quorum.epoch, EPOCH_MAX):
        context.add_fact("error", "raft-epoch-refused", epoch=epoch)
        return False
    if (
        leader_id == quorum.own_key.node_id
        and quorum.leader_id is None
        and not quorum.is_voter
        and epoch == quorum.epoch
    ):
        # This node led the epoch with another disk: it has no leader any more.
        context.add_fact("info", "raft-led-in-a-former-life", epoch=epoch)
        return False
    if not _is_consistent(context, leader_id, epoch):
        context.add_fact("error", "raft-two-leaders", epoch=epoch, leader=quorum.leader_id, other=leader_id)
        return False
    if epoch > quorum.epoch:
        if leader_id is None or leader_id == quorum.own_key.node_id or not listeners:
            quorum.become_unattached(epoch, now_ms, leader_id=leader_id)
        else:
            quorum.become_follower(epoch, leader_id, listeners, now_ms)
    elif (
        leader_id is not None and leader_id != quorum.own_key.node_id and len(listeners) > len(quorum.leader_listeners)
    ):
        # The leader of an epoch that had none, or more of its endpoints.
        quorum.become_follower(epoch, leader_id, listeners, now_ms)
    return True


def handle_common(
    context: RaftContext,
    now_ms: int,
    *,
    error: int,
    leader_id: int,
    epoch: int,
    endpoints: Iterable[NodeEndpoint],
) -> Outcome | None:
    """Handle epoch, leader and common errors of a response; None if its own content is still to be handled.

    As Kafka's maybeHandleCommonResponse, but a response that changes nothing is not followed by the next request at
    once.
    """
    quorum = context.quorum
    if epoch < quorum.epoch:
        return Outcome.DONE
    leader = optional_id(leader_id)
    listeners = known_listeners(context, leader, endpoints)
    before = quorum.state
    if epoch > quorum.epoch or error in _STALE:
        learn_leader(context, leader, epoch, listeners, now_ms)
        return Outcome.RETRY if quorum.state is before else Outcome.DONE
    if leader is not None and not quorum.leader_endpoint:
        if not learn_leader(context, leader, epoch, listeners, now_ms):
            return Outcome.RETRY
        return None if error == ErrorCode.NONE else Outcome.DONE
    if error in _RETRIED:
        return Outcome.RETRY
    return None


def _is_consistent(context: RaftContext, leader_id: int | None, epoch: int) -> bool:
    quorum = context.quorum
    if leader_id is None:
        return True
    if leader_id == quorum.own_key.node_id:
        # A higher epoch, which this node led with another disk.
        return epoch > quorum.epoch or quorum.leader_id == leader_id
    return epoch != quorum.epoch or quorum.leader_id in (None, leader_id)


def wire_id(node_id: int | None) -> int:
    """Return a node id as messages have it, -1 for None."""
    return -1 if node_id is None else node_id


def optional_id(node_id: int) -> int | None:
    """Return a node id from a message, None for -1."""
    return None if node_id < 0 else node_id
