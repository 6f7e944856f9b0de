"""The conditions of the loss catalogue on columns, true for a row exactly if `Condition.holds` is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, assert_never, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Values = pa.Array[Any]  # Any: of the column's own type

FieldCondition = Equals | Differs | IsOneOf | IsSet | LongerThan | IsEmpty | Contains | EqualsIgnoringCase
KnownCondition = FieldCondition | Always | HasUnderivableDirectory | AllOf | AnyOf
"""All conditions; a test fails if one is missing."""
# What `str.strip` removes.
_WHITESPACE: Final = "".join(character for character in map(chr, range(0x3001)) if character.isspace())
_RESERVED: Final = (MIGRATING, UNASSIGNED, LOST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Rows as columns: each field by its name. `single_log_dirs` are the log dirs of brokers that have exactly one.

    Directories are texts or bytes of uuids, here and there alike.
    """

    count: int
    column: Callable[[str], Values]
    single_log_dirs: Mapping[int, str | bytes] = field(default_factory=dict)


def holds(condition: Condition, rows: Columns) -> Flags:
    """Return for which rows a condition holds."""
    known = cast("KnownCondition", condition)  # the base class is open; the catalogue has only these
    match known:
        case Always():
            return np.ones(rows.count, np.bool_)
        case AllOf(parts):
            found = np.ones(rows.count, np.bool_)
            for part in parts:
                if found.any():
                    found &= holds(part, rows)
            return found
        case AnyOf(parts):
            found = np.zeros(rows.count, np.bool_)
            for part in parts:
                found |= holds(part, rows)
            return found
        case HasUnderivableDirectory():
            return _has_underivable_directory(rows)
        case _:
            return _field_holds(known, rows.column(known.name))


def fields_of(condition: Condition) -> frozenset[str]:
    """Return the names of the columns that a condition looks at."""
    known = cast("KnownCondition", condition)
    match known:
        case Always():
            return frozenset()
        case AllOf(parts) | AnyOf(parts):
            return frozenset().union(*map(fields_of, parts))
        case HasUnderivableDirectory():
            return frozenset({"replicas", "directories"})
        case _:
            return frozenset({known.name})


def list_lengths(lists: Values) -> Ints:
    """Return the length of each list; a null is empty."""
    assert isinstance(lists, pa.ListArray)
    return np.asarray(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)).astype(np.int64)


def lists_within(lists: Values, values: Iterable[int]) -> Flags:
    """Return which lists have no element but these; a null is empty."""
    assert isinstance(lists, pa.ListArray)
    elements = lists.flatten()
    others = ~_flags(pc.is_in(elements, pa.array(sorted(values), elements.type)))
    found = np.ones(len(lists), np.bool_)
    found[_owners(lists)[others]] = False
    return found


def _field_holds(condition: FieldCondition, values: Values) -> Flags:
    match condition:
        case Equals(_, wanted):
            found = equals(values, wanted)
        case Differs(_, wanted):
            found = ~equals(values, wanted)
        case IsOneOf(_, names):
            found = _flags(pc.is_in(values, pa.array(sorted(names), values.type)))
        case IsSet():
            found = _flags(values.is_valid())
        case LongerThan(_, length):
            found = list_lengths(values) > length
        case IsEmpty():
            found = list_lengths(values) == 0
        case Contains(_, part):
            found = _flags(pc.match_substring(values, part))
        case EqualsIgnoringCase(_, wanted):
            text: Any = values.fill_null("")  # Any: a column of texts
            found = equals(pc.utf8_lower(pc.utf8_trim(text, characters=_WHITESPACE)), wanted)
        case _:
            assert_never(condition)
    return found


def equals(values: Values, wanted: object) -> Flags:
    """Return which values equal one; nulls equal None alone."""
    if wanted is None:
        return _flags(values.is_null())
    return _flags(pc.equal(values, pa.scalar(wanted, values.type)))


def _flags(values: Values) -> Flags:
    """Return truth values; null is false."""
    found: Flags = values.fill_null(False).to_numpy(zero_copy_only=False)
    return found


def _has_underivable_directory(rows: Columns) -> Flags:
    """Compare each replica's directory with its broker's; a change without replicas is judged by directories alone."""
    directories, replicas = rows.column("directories"), rows.column("replicas")
    assert isinstance(directories, pa.ListArray)
    assert isinstance(replicas, pa.ListArray)
    lengths = list_lengths(directories)
    owners, values = _owners(directories), directories.flatten()
    # The replica of each directory; none where a damaged record has fewer replicas.
    place = np.arange(len(owners)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    of_replicas = list_lengths(replicas)
    at = (np.cumsum(of_replicas) - of_replicas)[owners] + place
    ids = np.asarray(replicas.flatten().fill_null(-1).to_numpy(zero_copy_only=False))
    has_one = np.zeros(len(owners), np.bool_)
    known = place < of_replicas[owners]
    has_one[known] = np.isin(ids[at[known]], list(rows.single_log_dirs))
    is_migrating = equals(values, _like(values, MIGRATING))
    derivable = [*(_like(values, each) for each in _RESERVED), *rows.single_log_dirs.values()]
    is_derivable = _flags(pc.is_in(values, pa.array(derivable, values.type)))
    without_replicas = _flags(replicas.is_null())[owners]
    underivable = np.where(without_replicas, ~is_derivable, ~is_migrating & ~has_one)
    found = np.zeros(rows.count, np.bool_)
    found[owners[underivable]] = True
    return found


def _like(values: Values, uuid: bytes) -> str | bytes:
    """Return a uuid in the form of others."""
    return uuid_text(uuid) if pa.types.is_string(values.type) else uuid


def _owners(lists: Values) -> Ints:
    """Return for each element the index of its list."""
    return np.repeat(np.arange(len(lists)), list_lengths(lists))
