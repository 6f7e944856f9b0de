"""What must hold in each state of an explored cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from falkirk.simulation.history.invariant import InvariantViolatedError

if TYPE_CHECKING:
    from falkirk.simulation.explorer.memory_log import BatchIdentity
    from falkirk.simulation.explorer.replica_steps import NodeView


class Past(NamedTuple):
    """What the states of replicas do not have any more.

    `leaders`: (epoch, node id), ascending. `votes`: (node id, epoch, candidate). `committed`: the longest sequence of
    batches below any replica's high watermark.
    """

    leaders: tuple[tuple[int, int], ...] = ()
    committed: "tuple[BatchIdentity, ...]" = ()


def after(past: Past, before: NodeView, view: NodeView) -> Past:
    """Return the past with a replica's new state. Raise InvariantViolatedError if that state contradicts it.

    SingleLeader, MonotonicEpoch, OneVote, LeaderCompleteness, ConsistentCommittedData: Kafka's names where it has them.
    """
    node = f"node {view.node_id}"
    if view.epoch < before.epoch:
        raise InvariantViolatedError("MonotonicEpoch", f"{node} goes back from epoch {before.epoch} to {view.epoch}")
    if view.epoch == before.epoch and None not in (before.voted_id, view.voted_id) and view.voted_id != before.voted_id:
        raise InvariantViolatedError(
            "OneVote", f"{node} votes for {before.voted_id} and {view.voted_id} in epoch {view.epoch}"
        )
    leaders = past.leaders
    if view.is_leader and not (before.is_leader and before.epoch == view.epoch):
        leader = dict(leaders).get(view.epoch)
        if leader not in (None, view.node_id):
            raise InvariantViolatedError(
                "SingleLeader", f"nodes {leader} and {view.node_id} lead in epoch {view.epoch}"
            )
        leaders = tuple(sorted({*leaders, (view.epoch, view.node_id)}))
        if view.history[: len(past.committed)] != past.committed:
            raise InvariantViolatedError(
                "LeaderCompleteness", f"{node} leads epoch {view.epoch} without what is committed"
            )
    committed = past.committed
    shared = min(len(committed), len(view.committed))
    if view.committed[:shared] != committed[:shared]:
        raise InvariantViolatedError(
            "ConsistentCommittedData", f"{node} has committed other batches than nodes before it"
        )
    if before.committed != view.history[: len(before.committed)]:
        raise InvariantViolatedError("CommittedDataStays", f"{node} has removed what it has committed")
    if view.misfit is not None:
        raise InvariantViolatedError("FinalizedWithinSupported", f"on {node} {view.misfit}")
    if len(view.committed) > shared:
        committed = view.committed
    return Past(leaders, committed)


def logs_match(one: NodeView, other: NodeView) -> None:
    """Raise InvariantViolatedError, LogsMatch, if two logs share a batch's offset and epoch, but differ before it."""
    shared = min(len(one.history), len(other.history))
    for index in reversed(range(shared)):
        mine, others = one.history[index], other.history[index]
        if (mine.base_offset, mine.epoch) == (others.base_offset, others.epoch):
            if one.history[: index + 1] != other.history[: index + 1]:
                raise InvariantViolatedError(
                    "LogsMatch", f"nodes {one.node_id} and {other.node_id} differ below offset {mine.end_offset}"
                )
            return
