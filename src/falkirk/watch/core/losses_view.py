"""The losses of metadata and groups as findings have them: made anew when one of them has changed, and only then."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Final

from falkirk.metadata.losses.loss import Outcome
from falkirk.operations.lift_findings import SHOWN_PARTITIONS
from falkirk.watch.core.findings import FoundLoss, first_written, written_order
from falkirk.watch.core.remedies import remedy_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.logdir.target import Target
    from falkirk.metadata.losses.loss import LossRule
    from falkirk.metadata.records.record_key import ObjectKey
    from falkirk.watch.core.group_index import GroupIndex, LostOfGroup
    from falkirk.watch.core.loss_index import Entry, LossIndex

LOSSES_SHOWN: Final = 1000
"""Findings have at most so many losses, those that were written first; counts are of all."""


class LossesView:
    """What all targets lose, counted and listed."""

    def __init__(self, targets: Sequence[Target], index: LossIndex, groups: GroupIndex, connection: str) -> None:
        self._targets = targets
        self._index = index
        self._groups = groups
        self._connection = connection
        rules = [index.rules_of(target) for target in range(len(targets))]
        self.lost = [_sum(index.counts(each.lost), groups.counts(target)) for target, each in enumerate(rules)]
        self.inaccessible = [index.counts(each.inaccessible) for each in rules]
        # By name, as a check of the whole image lists them.
        self.lacking = heapq.nsmallest(SHOWN_PARTITIONS, index.lacking.values(), key=lambda each: each.partition)
        found = list(self._all())
        self.count = len(found)
        self.shown = tuple(heapq.nsmallest(LOSSES_SHOWN, found, key=written_order))
        self._closing = found

    def point_of_no_return(self, target: int) -> FoundLoss | None:
        """Return the loss that closed the way; None if nothing would be lost."""
        word = self._targets[target].release.word
        lost = Outcome.LOST.value
        return first_written([loss for loss in self._closing if loss.outcome == lost and word in loss.releases])

    def _all(self) -> Iterator[FoundLoss]:
        yield from self._of_metadata()
        yield from self._of_groups()

    def _of_metadata(self) -> Iterator[FoundLoss]:
        words: dict[int, list[str]] = {}
        for number, target in enumerate(self._targets):
            rules = self._index.rules_of(number)
            for rule in (*rules.lost, *rules.inaccessible):
                words.setdefault(rule, []).append(target.release.word)
        for rule, releases in words.items():
            for key, entry in self._index.entries(rule):
                yield self._found_in_metadata(self._index.rule(rule), key, entry, tuple(releases))

    def _of_groups(self) -> Iterator[FoundLoss]:
        by_loss: dict[tuple[str, str, str], tuple[LostOfGroup, list[str]]] = {}
        for number, target in enumerate(self._targets):
            for lost in self._groups.losses(number):
                key = (lost.loss.kind, lost.loss.key, str(lost.place))
                by_loss.setdefault(key, (lost, []))[1].append(target.release.word)
        for lost, releases in by_loss.values():
            yield self._found_of_group(lost, tuple(releases))

    def _found_in_metadata(self, rule: LossRule, key: ObjectKey, entry: Entry, releases: tuple[str, ...]) -> FoundLoss:
        text = key.text(entry.topic_name)
        remedy = remedy_of(rule.kind, key.fields(), self._connection)
        return FoundLoss(
            kind=rule.kind,
            outcome=rule.outcome.value,
            key=text,
            detail=rule.detail.replace("{key}", text),
            place=entry.place,
            releases=releases,
            remedy=remedy.text,
            command=remedy.command,
        )

    def _found_of_group(self, lost: LostOfGroup, releases: tuple[str, ...]) -> FoundLoss:
        loss = lost.loss
        remedy = remedy_of(loss.kind, loss.key_fields, self._connection)
        return FoundLoss(
            kind=loss.kind,
            outcome=Outcome.LOST.value,
            key=loss.key,
            detail=loss.detail,
            place=lost.place,
            releases=releases,
            remedy=remedy.text,
            command=remedy.command,
        )


def _sum(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {kind: one.get(kind, 0) + other.get(kind, 0) for kind in sorted({*one, *other})}
