"""Groups and transactions that use a feature, which lowering it would affect.

Source: kraft features of KIP-890 (transactions), KIP-848 (groups), KIP-932 (share groups), KIP-1071 (streams groups).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.ledger.findings import Blocker, BlockerKind
from falkirk.ledger.reported_loss import ReportedLoss
from falkirk.protocol.feature_update_tags import CONSUMER_GROUP, OPEN_TRANSACTION
from falkirk.versions.features import GROUP_VERSION, SHARE_VERSION, STREAMS_VERSION, TRANSACTION_VERSION
from falkirk.versions.release import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from falkirk.ledger.open_transaction import OpenTransaction

# The type whose offsets outlive its members.
_CONSUMER: Final = "consumer"
# What an operator reads; the rest is counted.
_MEMBERS_NAMED_MAX: Final = 10
_PARTITIONS_NAMED_MAX: Final = 10
# The first moment after the year 9999; no calendar of Python has it.
_CALENDAR_END_MS: Final = 253_402_300_800_000
_GROUP_TYPES: Final[Mapping[str, str]] = {
    GROUP_VERSION: _CONSUMER,
    SHARE_VERSION: "share",
    STREAMS_VERSION: "streams",
}


class UnendedTransaction(NamedTuple):
    """A transaction that was waited for in vain. `refusal`: why its coordinator did not abort it, if it was asked."""

    transaction: "OpenTransaction"
    refusal: str | None

    def __str__(self) -> str:
        detail = _transaction_detail(self.transaction)
        return detail if self.refusal is None else f"{detail} (not aborted: {self.refusal})"

    def reported(self) -> Blocker:
        """Return the transaction as what is in the way of an update."""
        return Blocker(
            kind=BlockerKind.TRANSACTION_NOT_ENDED,
            fields={
                "feature": TRANSACTION_VERSION,
                "transactional_id": self.transaction.transactional_id,
                "partition": self.transaction.partition,
                "refusal": self.refusal,
            },
            text=str(self),
        )


class GroupInUse(NamedTuple):
    """A group of which there are records; `type` in Kafka's words: classic, consumer, share, streams.

    `committed`: of how many partitions it has offsets; `share_partitions`: delivery state.
    """

    group_id: str
    type: str
    members: int
    partition: int
    member_ids: tuple[str, ...] = ()
    committed: int = 0
    share_partitions: int = 0


class UnreadPartition(NamedTuple):
    """A partition of a coordinator's topic that could not be read."""

    topic: str
    partition: int
    reason: str

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}: {self.reason}"

    def reported(self) -> ReportedLoss:
        """Return the partition as a ledger lists it: what is in it may be lost."""
        name = f"{self.topic}-{self.partition}"
        return ReportedLoss(
            kind="not_read",
            key=name,
            key_fields={"topic": self.topic, "partition": self.partition},
            record="",
            offset=None,
            source=name,
            before={},
            after=None,
            detail=f"{self}, so its content is not known",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorUse:
    """The content of the coordinators' topics, and the partitions of them that could not be read."""

    transactions: tuple[OpenTransaction, ...] = ()
    groups: tuple[GroupInUse, ...] = ()
    unread: tuple[UnreadPartition, ...] = ()
    # Of an update that waits for open transactions: those that it has aborted, and those that have not ended in time.
    aborted: tuple[OpenTransaction, ...] = ()
    unended: tuple[UnendedTransaction, ...] = ()

    def cut_off(self, name: str) -> list[ReportedLoss]:
        """Return what lowering a feature would cut off."""
        if name == TRANSACTION_VERSION:
            aborted = [_aborted_loss(transaction) for transaction in self.aborted]
            return [*aborted, *(_transaction_loss(transaction) for transaction in self.transactions)]
        type_ = _GROUP_TYPES[name]
        return [
            _group_loss(group)
            for group in self.groups
            # A group of KIP-848 without members is one that classic members may take over, with its offsets.
            if group.type == type_ and (group.members or name != GROUP_VERSION)
        ]


def cut_off_by_lowering(
    use: CoordinatorUse, before: Mapping[str, int], after: Mapping[str, int]
) -> Iterator[ReportedLoss]:
    """Yield what lowering features cuts off; levels by feature, a missing one is 0."""
    for name, level in before.items():
        if after.get(name, 0) < level and topics_to_survey(name, after.get(name, 0)):
            yield from use.cut_off(name)


def topics_to_survey(name: str, level: int) -> tuple[str, ...]:
    """Return the topics that tell what lowering a feature to a level cuts off; none if it can cut off nothing."""
    if name == TRANSACTION_VERSION:
        return (TRANSACTION_STATE,)
    if name not in _GROUP_TYPES or level > 0:
        return ()
    return (CONSUMER_OFFSETS, SHARE_GROUP_STATE) if name == SHARE_VERSION else (CONSUMER_OFFSETS,)


def _transaction_loss(transaction: OpenTransaction) -> ReportedLoss:
    return ReportedLoss(
        kind=OPEN_TRANSACTION,
        key=f"transactional id {transaction.transactional_id}",
        key_fields={"transactional_id": transaction.transactional_id, "partition": transaction.partition},
        record="TransactionLogValue",
        offset=transaction.offset,
        source=f"{TRANSACTION_STATE}-{transaction.partition}",
        before={
            "state": transaction.state,
            "producer_id": transaction.producer_id,
            "producer_epoch": transaction.producer_epoch,
            "partitions": list(transaction.partitions[:_PARTITIONS_NAMED_MAX]),
            "partition_count": len(transaction.partitions),
            "start_timestamp_ms": transaction.start_timestamp_ms,
        },
        after=None,
        detail=_transaction_detail(transaction),
    )


def _aborted_loss(transaction: OpenTransaction) -> ReportedLoss:
    loss = _transaction_loss(transaction)
    detail = f"{loss.detail}; its producer is fenced so that it ends, as the request allows"
    return replace(loss, kind="aborted_transaction", detail=detail)


def _transaction_detail(transaction: OpenTransaction) -> str:
    """Return the sentence that names a transaction: id, state, producer, since when, partitions."""
    named = transaction.partitions[:_PARTITIONS_NAMED_MAX]
    more = len(transaction.partitions) - len(named)
    names = ", ".join([*named, *([f"and {more} more"] if more else [])])
    started_ms = transaction.start_timestamp_ms
    since = ""
    if 0 <= started_ms < _CALENDAR_END_MS:
        since = f" since {datetime.fromtimestamp(started_ms / 1000, UTC).isoformat()}"
    return (
        f"transactional id {transaction.transactional_id} has an open transaction ({transaction.state}) of producer "
        f"{transaction.producer_id} with epoch {transaction.producer_epoch}{since}" + (f" in {names}" if names else "")
    )


def _group_loss(group: GroupInUse) -> ReportedLoss:
    return ReportedLoss(
        kind=CONSUMER_GROUP if group.type == _CONSUMER else f"{group.type}_group",
        key=f"group {group.group_id}",
        key_fields={"group": group.group_id, "partition": group.partition},
        record=f"{group.type} group",
        offset=None,
        source=f"{CONSUMER_OFFSETS}-{group.partition}",
        before={
            "members": group.members,
            "member_ids": list(group.member_ids[:_MEMBERS_NAMED_MAX]),
            "committed_offsets": group.committed,
            "share_partitions": group.share_partitions,
        },
        after={"members": 0, "committed_offsets": group.committed} if group.type == _CONSUMER else None,
        detail=_group_detail(group),
    )


def _group_detail(group: GroupInUse) -> str:
    named = list(group.member_ids[:_MEMBERS_NAMED_MAX])
    more = len(group.member_ids) - len(named)
    names = ", ".join([*named, *([f"and {more} more"] if more else [])])
    detail = f"group {group.group_id} is a {group.type} group with {group.members} members"
    if names:
        detail += f" ({names})"
    if group.share_partitions:
        detail += f" and delivery state of {group.share_partitions} partitions"
    if group.type == _CONSUMER:
        # Heartbeats are refused from then on; the next one who joins by the classic protocol takes the group over.
        detail += f" that must join again by the classic protocol (its {group.committed} committed offsets stay)"
    return detail
