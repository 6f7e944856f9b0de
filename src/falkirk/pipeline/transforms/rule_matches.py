"""The objects of a cluster that match rules of the loss catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from falkirk.metadata.losses.loss_catalogue import ELR_TO_ISR
from falkirk.pipeline.state.conditions import Columns, fields_of, holds, lists_within
from falkirk.pipeline.transforms.metadata_objects import METADATA_OBJECTS, place_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from falkirk.metadata.losses.loss import LossRule
    from falkirk.pipeline.transforms.cluster_context import Brokers
    from falkirk.pipeline.warehouse.cluster_rows import ClusterRows, Part

    Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """Objects that match a rule: the columns of their keys, and the place of each (`place_column`).

    Of some nothing is gone, and they are only written in another form (`costs_nothing`).
    """

    rule: LossRule
    rows: pa.RecordBatch
    costs_nothing: Flags

    def __len__(self) -> int:
        return self.rows.num_rows

    def select(self, wanted: Flags) -> Matches:
        """Return some of them."""
        return Matches(
            rule=self.rule, rows=self.rows.filter(pa.array(wanted)), costs_nothing=self.costs_nothing[wanted]
        )


def rule_matches(rows: ClusterRows, rules: Iterable[LossRule], brokers: Brokers) -> Iterator[Matches]:
    """Yield the objects of a cluster for each rule, a part of their table at a time."""
    by_record: dict[str, list[LossRule]] = {}
    for rule in rules:
        by_record.setdefault(rule.record, []).append(rule)
    for record, of_record in by_record.items():
        for part in rows.parts(METADATA_OBJECTS[record].table):
            yield from _of_part(part, record, of_record, brokers)


def _of_part(part: Part, record: str, rules: Sequence[LossRule], brokers: Brokers) -> Iterator[Matches]:
    names = sorted(frozenset().union(*(fields_of(rule.condition) for rule in rules)))
    batch = part.read(*names)
    columns = Columns(count=part.count, column=batch.column, single_log_dirs=brokers.single_log_dirs)
    matching = [(rule, at) for rule in rules if len(at := np.flatnonzero(holds(rule.condition, columns)))]
    if not matching:
        return
    # Most parts have no match, so keys and places are not read before.
    keys = METADATA_OBJECTS[record].key_columns
    objects = part.read(*keys, *{place_column(rule): None for rule, _ in matching})
    for rule, at in matching:
        # Of each part the same columns, whatever other rules match there.
        rows = objects.select([*keys, place_column(rule)]).take(at)
        yield Matches(rule=rule, rows=rows, costs_nothing=_costs_nothing(rule, batch, at, brokers))


def _costs_nothing(rule: LossRule, rows: pa.RecordBatch, at: NDArray[np.int64], brokers: Brokers) -> Flags:
    """Return whether what a rule matches is only written in another form, and nothing is gone with it.

    Eligible leader replicas have every committed message, and become in-sync. Those of brokers that were stopped
    cleanly still have them when they start; after a crash the controller has to know that they are eligible only.
    """
    if rule.kind != ELR_TO_ISR:
        return np.zeros(len(at), np.bool_)
    return lists_within(rows["eligible_leader_replicas"].take(at), brokers.stopped)
