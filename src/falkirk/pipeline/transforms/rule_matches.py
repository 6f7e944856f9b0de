"""The objects that match rules of the loss catalogue."""

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

    from falkirk.metadata.losses.loss import LossRule

RULE: Final = "rule"
"""The column with the index of the matching rule."""


def rule_matches(rows: DataFrame, rules: Sequence[tuple[LossRule, Column]]) -> DataFrame:
    """Return each object once for each rule that it matches, with the column RULE.

    `rows` are objects, with the facts that the conditions need (`cluster_context`). Each rule comes with a column that
    tells whether it applies at all.
    """
    row = RowColumns()
    return each_match(rows, [applies & condition_column(rule.condition, row) for rule, applies in rules])


def each_match(rows: DataFrame, holds: Sequence[Column]) -> DataFrame:
    """Return each row once for each of the columns that is true, with its index as RULE."""
    # Evaluated twice: most rows match nothing, and filtering is cheaper than making an array. Compiled code removes
    # numbers from it, a lambda nulls; and "explode" would evaluate a third time whether there is an element.
    matching = rows.filter(functools.reduce(operator.or_, holds))
    matches = sf.array(*(sf.when(held, index).otherwise(-1) for index, held in enumerate(holds)))
    return matching.withColumn(RULE, sf.explode_outer(sf.array_remove(matches, -1)))


def of_rule(rules: Sequence[LossRule], value: Callable[[LossRule], str | int | None]) -> Column:
    """Return a value of the matching rule."""
    return sf.get(sf.array(*(sf.lit(value(rule)) for rule in rules)), sf.col(RULE))


def rule_place(rules: Sequence[LossRule]) -> Column:
    """Return the place where the object of the matching rule was written last: type of the record, offset, source."""
    places: dict[str, list[int]] = {}
    for index, rule in enumerate(rules):
        places.setdefault(place_column(rule), []).append(index)
    return sf.coalesce(*(sf.when(sf.col(RULE).isin(indices), sf.col(name)) for name, indices in places.items()))
