"""Which objects the rules of the loss catalogue match: its conditions, asked of a table."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as sf

from falkirk.pipeline.transforms.conditions import RowColumns, condition_column
from falkirk.pipeline.transforms.metadata_objects import place_column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame

    from falkirk.metadata.loss import LossRule

RULE: Final = "rule"
"""The column that says which rule matches: its place among those that were asked."""


def rule_matches(rows: DataFrame, rules: Sequence[tuple[LossRule, Column]]) -> DataFrame:
    """Give each object once for each rule that it matches, with the column RULE.

    `rows` are objects, with what the conditions ask for besides (`cluster_context`). Each rule comes with a column that
    says whether it applies at all.
    """
    row = RowColumns()
    return each_match(rows, [applies & condition_column(rule.condition, row) for rule, applies in rules])


def each_match(rows: DataFrame, holds: Sequence[Column]) -> DataFrame:
    """Give each row once for each of the columns that hold, with its number as RULE."""
    # Asked twice: most rows match nothing, and to ask is cheaper than to make an array. Numbers are taken out of it by
    # compiled code, nulls by a lambda; and to "explode" it would ask a third time, whether there is an element.
    matching = rows.filter(functools.reduce(operator.or_, holds))
    matches = sf.array(*(sf.when(held, index).otherwise(-1) for index, held in enumerate(holds)))
    return matching.withColumn(RULE, sf.explode_outer(sf.array_remove(matches, -1)))


def of_rule(rules: Sequence[LossRule], value: Callable[[LossRule], str | int | None]) -> Column:
    """Give something of the rule that matches, out of those that were asked."""
    return sf.get(sf.array(*(sf.lit(value(rule)) for rule in rules)), sf.col(RULE))


def rule_place(rules: Sequence[LossRule]) -> Column:
    """Give where what the rule that matches speaks of was written last: type of the record, offset, source."""
    places: dict[str, list[int]] = {}
    for index, rule in enumerate(rules):
        places.setdefault(place_column(rule), []).append(index)
    return sf.coalesce(*(sf.when(sf.col(RULE).isin(indices), sf.col(name)) for name, indices in places.items()))
