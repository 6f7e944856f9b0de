"""Conditions of the loss catalogue, as data: each can be asked of one object here, and translated to columns elsewhere.

A row is anything with fields of a record's names: an object of an image, a record, a line of a table. Lists that a
record leaves out may be empty or None.

A condition is compiled into one function before it is asked: a million partitions are asked of all rules at once.
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
    """What a condition may need besides its row: how many log dirs each registered broker has, by its id."""

    log_dir_counts: Mapping[int, int] = field(default_factory=dict)


class Condition(ABC):
    """Something that holds for a row or does not. Frozen, so that equal conditions are compiled once."""

    __slots__ = ()

    @property
    @abstractmethod
    def expression(self) -> str:
        """Give it as a Python expression over `row` and `context`; what is not false holds."""

    def holds(self, row: Any, context: RowContext) -> bool:  # Any: see the module
        """Say whether it holds."""
        return compiled(self)(row, context)

    def __and__(self, other: Condition) -> Condition:
        return AllOf((self, other))

    def __or__(self, other: Condition) -> Condition:
        return AnyOf((self, other))


@functools.cache
def compiled(condition: Condition) -> Callable[[Any, RowContext], bool]:  # Any: see the module
    """Make the function that says whether a condition holds for (row, context)."""
    source = f"lambda row, context: bool({condition.expression})"
    names = {"has_underivable_directory": has_underivable_directory}
    function: Callable[[Any, RowContext], bool] = eval(source, names)  # noqa: S307 (made of the catalogue's own words)
    return function


@dataclass(frozen=True, slots=True)
class Always(Condition):
    """That the object exists is enough."""

    @property
    def expression(self) -> str:
        """Say yes."""
        return "True"


@dataclass(frozen=True, slots=True)
class Equals(Condition):
    """A field has this value."""

    name: str
    value: object

    @property
    def expression(self) -> str:
        """Compare the field."""
        return f"row.{self.name} == {self.value!r}"


@dataclass(frozen=True, slots=True)
class Differs(Condition):
    """A field has another value than this."""

    name: str
    value: object

    @property
    def expression(self) -> str:
        """Compare the field."""
        return f"row.{self.name} != {self.value!r}"


@dataclass(frozen=True, slots=True)
class IsOneOf(Condition):
    """A field has one of these values."""

    name: str
    values: frozenset[str]

    @property
    def expression(self) -> str:
        """Look the field up."""
        return f"row.{self.name} in {tuple(sorted(self.values))!r}"


@dataclass(frozen=True, slots=True)
class IsSet(Condition):
    """A field is not None: in a change record, that it changes."""

    name: str

    @property
    def expression(self) -> str:
        """Look at the field."""
        return f"row.{self.name} is not None"


@dataclass(frozen=True, slots=True)
class LongerThan(Condition):
    """A list has more than `length` elements; None counts as empty."""

    name: str
    length: int

    @property
    def expression(self) -> str:
        """Measure the list."""
        return f"len(row.{self.name} or ()) > {self.length}" if self.length else f"row.{self.name}"


@dataclass(frozen=True, slots=True)
class IsEmpty(Condition):
    """A list has no elements, or is None."""

    name: str

    @property
    def expression(self) -> str:
        """Measure the list."""
        return f"not row.{self.name}"


@dataclass(frozen=True, slots=True)
class Contains(Condition):
    """A text has `part` in it."""

    name: str
    part: str

    @property
    def expression(self) -> str:
        """Search the text."""
        return f"{self.part!r} in row.{self.name}"


@dataclass(frozen=True, slots=True)
class EqualsIgnoringCase(Condition):
    """A text is this one (in lower case), in whatever case it is written."""

    name: str
    value: str

    @property
    def expression(self) -> str:
        """Compare the text."""
        return f"(row.{self.name} or '').strip().lower() == {self.value!r}"


@dataclass(frozen=True, slots=True)
class HasUnderivableDirectory(Condition):
    """A replica lies in a directory that is known and would not be guessed."""

    @property
    def expression(self) -> str:
        """Look at each replica's broker."""
        return "has_underivable_directory(row, context)"


@dataclass(frozen=True, slots=True)
class AllOf(Condition):
    """All of these hold."""

    parts: tuple[Condition, ...]

    @property
    def expression(self) -> str:
        """Ask until one does not hold."""
        return " and ".join(f"({part.expression})" for part in self.parts) or "True"


@dataclass(frozen=True, slots=True)
class AnyOf(Condition):
    """One of these holds, or more."""

    parts: tuple[Condition, ...]

    @property
    def expression(self) -> str:
        """Ask until one holds."""
        return " or ".join(f"({part.expression})" for part in self.parts) or "False"


def has_underivable_directory(row: Any, context: RowContext) -> bool:  # Any: see the module
    """Say whether a replica's directory is known and would not be guessed.

    Without a directory in the record, a replica can only lie in its broker's one log dir. So nothing is lost where
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
