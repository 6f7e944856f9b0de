"""The conditions of the loss catalogue as columns, true for a row exactly if `Condition.holds` is.

None of the columns is ever null, so they can be negated and combined.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, assert_never, cast

from pyspark.sql import functions as sf

from falkirk.metadata.image.partition import LOST, MIGRATING, UNASSIGNED
from falkirk.metadata.losses.condition import (
    AllOf,
    Always,
    AnyOf,
    Condition,
    Contains,
    Differs,
    Equals,
    EqualsIgnoringCase,
    HasUnderivableDirectory,
    IsEmpty,
    IsOneOf,
    IsSet,
    LongerThan,
)
from falkirk.protocol.uuid import uuid_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

FieldCondition = Equals | Differs | IsOneOf | IsSet | LongerThan | IsEmpty | Contains | EqualsIgnoringCase
KnownCondition = FieldCondition | Always | HasUnderivableDirectory | AllOf | AnyOf
"""All conditions; a test fails if one is missing."""
SINGLE_LOG_DIR_BROKERS: Final = "single_log_dir_brokers"
SINGLE_LOG_DIRS: Final = "single_log_dirs"
# What `str.strip` removes.
_WHITESPACE: Final = "".join(character for character in map(chr, range(0x3001)) if character.isspace())
_MIGRATING: Final = uuid_text(MIGRATING)
_RESERVED: Final = [uuid_text(directory) for directory in (MIGRATING, UNASSIGNED, LOST)]
_FEW: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RowColumns:
    """The columns of a row: each field by its name, and facts about brokers.

    Brokers registered with exactly one log dir are an array of ids; those dirs are an array of uuids.
    """

    value: Callable[[str], Column] = sf.col
    single_log_dir_brokers: Column = field(default_factory=lambda: sf.col(SINGLE_LOG_DIR_BROKERS))
    single_log_dirs: Column = field(default_factory=lambda: sf.col(SINGLE_LOG_DIRS))


def condition_column(condition: Condition, row: RowColumns) -> Column:
    """Return whether a condition holds, as a column."""
    known = cast("KnownCondition", condition)  # the base class is open; the catalogue has only these
    match known:
        case Always():
            return sf.lit(True)
        case AllOf(parts):
            return functools.reduce(operator.and_, (condition_column(part, row) for part in parts), sf.lit(True))
        case AnyOf(parts):
            return functools.reduce(operator.or_, (condition_column(part, row) for part in parts), sf.lit(False))
        case HasUnderivableDirectory():
            return _has_underivable_directory(row)
        case _:
            return _field_column(known, row.value(known.name))


def needs_brokers(condition: Condition) -> bool:
    """Return whether a condition needs the columns of `RowColumns` about brokers."""
    match condition:
        case AllOf(parts) | AnyOf(parts):
            return any(map(needs_brokers, parts))
        case _:
            return isinstance(condition, HasUnderivableDirectory)


def _field_column(condition: FieldCondition, value: Column) -> Column:
    match condition:
        case Equals(_, wanted):
            found = value.eqNullSafe(sf.lit(wanted))
        case Differs(_, wanted):
            found = ~value.eqNullSafe(sf.lit(wanted))
        case IsOneOf(_, values):
            found = _or_false(value.isin(sorted(values)))
        case IsSet():
            found = value.isNotNull()
        case LongerThan(_, length):
            found = _length(value) > length
        case IsEmpty():
            found = _length(value) == 0
        case Contains(_, part):
            found = _or_false(sf.contains(value, sf.lit(part)))
        case EqualsIgnoringCase(_, wanted):
            found = sf.lower(sf.btrim(sf.coalesce(value, sf.lit("")), sf.lit(_WHITESPACE))) == wanted
        case _:
            assert_never(condition)
    return found


def _or_false(column: Column) -> Column:
    return sf.coalesce(column, sf.lit(False))


def _length(column: Column) -> Column:
    return sf.coalesce(sf.array_size(column), sf.lit(0))


def _has_underivable_directory(row: RowColumns) -> Column:
    """Compare each replica's directory with its broker's; a change without replicas is judged by directories alone."""
    replicas, directories = row.value("replicas"), row.value("directories")

    def is_underivable(replica: Column, directory: Column) -> Column:
        return (directory != _MIGRATING) & ~_or_false(sf.array_contains(row.single_log_dir_brokers, replica))

    def is_one_of_several(directory: Column) -> Column:
        return ~directory.isin(_RESERVED) & ~_or_false(sf.array_contains(row.single_log_dirs, directory))

    # Spark compiles everything but lambdas, which take ten times as long: the few replicas of a partition are checked
    # one by one.
    first = (is_underivable(sf.get(replicas, sf.lit(at)), sf.get(directories, sf.lit(at))) for at in range(_FEW))
    of_few = functools.reduce(operator.or_, map(_or_false, first))
    of_many = sf.array_contains(sf.zip_with(replicas, directories, is_underivable), sf.lit(True))
    return _or_false(
        sf.when(replicas.isNull(), sf.exists(directories, is_one_of_several))
        .when(sf.array_size(directories) <= _FEW, of_few)
        .otherwise(of_many)
    )
