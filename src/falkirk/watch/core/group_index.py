"""Groups and open transactions of one cluster, and what older releases lose of them, kept while the topics grow."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.coordinator.prediction.followed_partition import FollowedPartition
from falkirk.coordinator.prediction.group_losses import group_losses
from falkirk.coordinator.prediction.groups import GroupsReadability
from falkirk.coordinator.prediction.transactions import TransactionSurvey
from falkirk.coordinator.records.loader_rules import default_coordinator
from falkirk.coordinator.records.log_entry import log_entries
from falkirk.coordinator.records.record_type import GroupType
from falkirk.versions.release import CONSUMER_OFFSETS, TRANSACTION_STATE
from falkirk.watch.core.findings import GroupState, Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.coordinator.prediction.followed_partition import JudgedGroup
    from falkirk.coordinator.prediction.groups import GroupReadability
    from falkirk.ledger.open_transaction import OpenTransaction
    from falkirk.ledger.reported_loss import ReportedLoss
    from falkirk.logdir.target import Target
    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.protocol.topic_partition import TopicPartition

_Group = tuple[int, str | None]
_SIMPLE_AS: Final = GroupType.CLASSIC.value


class LostOfGroup(NamedTuple):
    """A loss of a group, and since where."""

    loss: ReportedLoss
    place: Place


class GroupIndex:
    """What the coordinators' topics hold. `version` rises with every change that may show."""

    def __init__(self, targets: Sequence[Target]) -> None:
        self.version = 0
        self._targets = targets
        self._releases = [target.release for target in targets]
        self._partitions: dict[int, FollowedPartition] = {}
        self._transactions: dict[int, TransactionSurvey] = {}
        self._groups: dict[_Group, tuple[GroupReadability, ...]] = {}
        # By target: group -> its losses.
        self._losses: list[dict[_Group, tuple[LostOfGroup, ...]]] = [{} for _ in targets]

    def add(self, partition: TopicPartition, batches: Sequence[RecordBatch]) -> None:
        """Add batches of a partition of either topic, in log order. Raises RemoteProtocolError."""
        number = partition.partition
        if partition.topic == CONSUMER_OFFSETS:
            followed = self._partitions.get(number)
            if followed is None:
                followed = self._partitions[number] = FollowedPartition(number, self._releases)
            for batch in batches:
                for entry in log_entries((batch,)):
                    followed.add(entry, batch.max_timestamp)
            for judged in followed.judge():
                self._set(number, judged)
        elif partition.topic == TRANSACTION_STATE:
            survey = self._transactions.setdefault(number, TransactionSurvey())
            before = survey.unfinished()
            for entry in log_entries(batches):
                survey.add(entry)
            if survey.unfinished() != before:
                self.version += 1

    def forget(self, partition: TopicPartition) -> None:
        """Forget a partition, which is then read from its start."""
        number = partition.partition
        self.version += 1
        if partition.topic == TRANSACTION_STATE:
            self._transactions.pop(number, None)
            return
        self._partitions.pop(number, None)
        self._groups = {key: group for key, group in self._groups.items() if key[0] != number}
        self._losses = [
            {key: lost for key, lost in of_groups.items() if key[0] != number} for of_groups in self._losses
        ]

    def has_losses(self, target: int) -> bool:
        """Return whether a target loses something."""
        return bool(self._losses[target])

    def losses(self, target: int) -> Iterator[LostOfGroup]:
        """Yield what a target loses."""
        for losses in self._losses[target].values():
            yield from losses

    def counts(self, target: int) -> dict[str, int]:
        """Count what a target loses, by kind."""
        return dict(Counter(lost.loss.kind for lost in self.losses(target)))

    def groups_by_type(self) -> dict[str, int]:
        """Count groups by the type that Kafka's tools show."""
        found = Counter(group[0].type.value for group in self._groups.values() if group)
        found[_SIMPLE_AS] += found.pop(GroupType.SIMPLE.value, 0)
        return {kind: number for kind, number in sorted(found.items()) if number}

    def group_states(self) -> list[GroupState]:
        """Return all groups, by id."""
        return [
            GroupState(
                group=group[0].group_id,
                type=group[0].type.value,
                partition=group[0].partition,
                members=group[0].members,
                committed_offsets=group[0].committed_offsets,
                verdicts={
                    target.release.word: each.verdict.value for target, each in zip(self._targets, group, strict=True)
                },
            )
            for group in sorted(self._groups.values(), key=lambda group: group[0].group_id)
        ]

    def transactions(self) -> list[OpenTransaction]:
        """Return the open transactions, by id."""
        found = [
            each.reported(partition) for partition, survey in self._transactions.items() for each in survey.unfinished()
        ]
        return sorted(found)

    def _set(self, partition: int, judged: JudgedGroup) -> None:
        key = (partition, judged.group_id)
        before = self._groups.get(key)
        if judged.readable is None:
            self._groups.pop(key, None)
        else:
            self._groups[key] = judged.readable
        changed = before != judged.readable
        for index, target in enumerate(self._targets):
            known = {_identity(lost.loss): lost.place for lost in self._losses[index].get(key, ())}
            losses = self._lost(index, target, partition, judged)
            lost = tuple(
                LostOfGroup(loss, known.get(_identity(loss)) or _place(partition, judged, loss)) for loss in losses
            )
            changed |= lost != self._losses[index].get(key, ())
            if lost:
                self._losses[index][key] = lost
            else:
                self._losses[index].pop(key, None)
        self.version += changed

    def _lost(self, index: int, target: Target, partition: int, judged: JudgedGroup) -> list[ReportedLoss]:
        name = f"{CONSUMER_OFFSETS}-{partition}"
        answer = GroupsReadability(
            release=target.release,
            kind=default_coordinator(target.release),
            groups=() if judged.readable is None else (judged.readable[index],),
            failing=judged.failing[index],
            skipped={},
        )
        return group_losses(answer, name=name, source=name)


def _identity(loss: ReportedLoss) -> tuple[str, str, int | None]:
    """Return by what a loss is known again: its counts may change."""
    return loss.kind, loss.key, loss.offset


def _place(partition: int, judged: JudgedGroup, loss: ReportedLoss) -> Place:
    offset = judged.since_offset if loss.offset is None else loss.offset
    return Place(
        log=f"{CONSUMER_OFFSETS}-{partition}",
        offset=offset,
        end_offset=offset + 1,
        timestamp_ms=None if judged.since_timestamp_ms < 0 else judged.since_timestamp_ms,
        record=loss.record,
    )
