"""Conditions of the loss catalogue, as data: evaluated on one object here, and translated to columns elsewhere.

A row is anything with fields of a record's names: an object of an image, a record, a line of a table. Lists that a
record leaves out may be empty or None.

A condition is compiled into one function, since all rules are evaluated on a million partitions at once.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from falkirk.metadata.image.partition import MIGRATING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class RowContext:
    """What a condition may need besides its row: the number of log dirs of each registered broker, by its id."""

    log_dir_counts: "Mapping[int, int]" = field(default_factory=dict)


class Condition(ABC):
    """A condition on a row. Frozen, so that equal conditions are compiled once."""

    __slots__ = ()

    @property
    @abstractmethod
    def expression(self) -> str:
        """The condition as a Python expression over `row` and `context`, true or false by its truth value."""

    def holds(self, row: Any, context: RowContext) -> bool:  # Any: see the module
        """Return whether the row fulfils the condition."""
        return compiled(self)(row, context)

    def __and__(self, other: Condition) -> Condition:
        return AllOf((self, other))

    def __or__(self, other: Condition) -> Condition:
        return AnyOf((self, other))


@functools.cache
def compiled(condition: Condition) -> Callable[[Any, RowContext], bool]:  # Any: see the module
    """Compile a condition into a function of (row, context)."""
    source = f"lambda row, context: bool({condition.expression})"
    names = {"has_underivable_directory": has_underivable_directory}
    function: Callable[[Any, RowContext], bool] = eval(source, names)  # noqa: S307 (made of the catalogue's own words)
    return function


@dataclass(frozen=True, slots=True)
class Always(Condition):
    """True of every object."""

    @property
    def expression(self) -> str:
        """True for any row."""
        return "True"


@dataclass(frozen=True, slots=True)
class Equals(Condition):
    """A field equals `value`."""

    name: str
    value: "object"

    @property
    def expression(self) -> str:
        """Equality of the field and the value."""
        return f"row.{self.name} == {self.value!r}"


@dataclass(frozen=True, slots=True)
class Differs(Condition):
    """A field differs from `value`."""

    name: str
    value: "object"

    @property
    def expression(self) -> str:
        """Inequality of the field and the value."""
        return f"row.{self.name} != {self.value!r}"


@dataclass(frozen=True, slots=True)
class IsOneOf(Condition):
    """A field has one of these values."""

    name: str
    values: frozenset[str]

    @property
    def expression(self) -> str:
        """Membership of the field in the sorted values."""
        return f"row.{self.name} in {tuple(sorted(self.values))!r}"


@dataclass(frozen=True, slots=True)
class IsSet(Condition):
    """A field is not None; in a change record: the field changes."""

    name: str

    @property
    def expression(self) -> str:
        """Comparison of the field with None."""
        return f"row.{self.name} is not None"


@dataclass(frozen=True, slots=True)
class LongerThan(Condition):
    """A list has more than `length` elements; None counts as empty."""

    name: str
    length: int

    @property
    def expression(self) -> str:
        """Comparison of the length; plain truth for length 0."""
        return f"len(row.{self.name} or ()) > {self.length}" if self.length else f"row.{self.name}"


@dataclass(frozen=True, slots=True)
class IsEmpty(Condition):
    """A list is empty or None."""

    name: str

    @property
    def expression(self) -> str:
        """Negation of the field's truth."""
        return f"not row.{self.name}"


@dataclass(frozen=True, slots=True)
class Contains(Condition):
    """A text contains `part`."""

    name: str
    part: str

    @property
    def expression(self) -> str:
        """Containment of the part in the field."""
        return f"{self.part!r} in row.{self.name}"


@dataclass(frozen=True, slots=True)
class EqualsIgnoringCase(Condition):
    """A text equals `value` (in lower case), whatever its case and the blanks around it."""

    name: str
    value: str

    @property
    def expression(self) -> str:
        """Equality of the stripped lower-case text and the value."""
        return f"(row.{self.name} or '').strip().lower() == {self.value!r}"


@dataclass(frozen=True, slots=True)
class HasUnderivableDirectory(Condition):
    """A replica is in a known directory that cannot be derived without the record."""

    @property
    def expression(self) -> str:
        """Call of `has_underivable_directory`."""
        return "has_underivable_directory(row, context)"


@dataclass(frozen=True, slots=True)
class AllOf(Condition):
    """All parts hold."""

    parts: tuple[Condition, ...]

    @property
    def expression(self) -> str:
        """Conjunction of the parts."""
        return " and ".join(f"({part.expression})" for part in self.parts) or "True"


@dataclass(frozen=True, slots=True)
class AnyOf(Condition):
    """At least one part holds."""

    parts: tuple[Condition, ...]

    @property
    def expression(self) -> str:
        """Disjunction of the parts."""
        return " or ".join(f"({part.expression})" for part in self.parts) or "False"


def has_underivable_directory(row: Any, context: RowContext) -> bool:  # Any: see the module
    """Return whether a replica's directory is known and cannot be derived without the record.

    Without a directory in the record, a replica can only be in its broker's one log dir. So nothing is lost where
    the broker is registered with exactly one, nor where the directory was not known in the first place.
    """
    directories = row.directories
    if not directories:
        return False
    counts = context.log_dir_counts
    for replica, directory in zip(row.replicas, directories, strict=True):
        if directory != MIGRATING and counts.get(replica) != 1:
            return True
    return False
