"""Conditions of the loss catalogue, as data: each can be asked of one object here, and translated to columns elsewhere.

A row is anything with fields of a record's names: an object of an image, a record, a line of a table. Lists that a
record leaves out may be empty or None.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from falkirk.metadata.image.partition import MIGRATING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class RowContext:
    """What a condition may need besides its row: how many log dirs each registered broker has, by its id."""

    log_dir_counts: Mapping[int, int] = field(default_factory=dict)


class Condition:
    """Something that holds for a row or does not."""

    __slots__ = ()

    def holds(self, row: Any, context: RowContext) -> bool:  # Any: see the module
        """Say whether it holds."""
        raise NotImplementedError

    def __and__(self, other: Condition) -> Condition:
        return AllOf((self, other))

    def __or__(self, other: Condition) -> Condition:
        return AnyOf((self, other))


@dataclass(frozen=True, slots=True)
class Always(Condition):
    """That the object exists is enough."""

    def holds(self, row: Any, context: RowContext) -> bool:  # Any: see the module  # noqa: ARG002 (same for all)
        """Say yes."""
        return True


@dataclass(frozen=True, slots=True)
class Equals(Condition):
    """A field has this value."""

    name: str
    value: object

    def holds(self, row: Any, context: RowContext) -> bool:  # Any: see the module  # noqa: ARG002 (same for all)
        """Compare the field."""
        return bool(getattr(row, self.name) == self.value)


@dataclass(frozen=True, slots=True)
class Differs(Condition):
    """A field has another value than this."""

    name: str
    value: object

    def holds(self, row: Any, context: RowContext) -> bool:  # Any: see the module  # noqa: ARG002 (same for all)
        """Compare the field."""
        return bool(getattr(row, self.name) != self.value)


@dataclass(frozen=True, slots=True)
class IsSet(Condition):
    """A field is not None: in a change record, that it changes."""

    name: str

    def holds(self, row: Any, context: RowContext) -> bool:  # Any: see the module  # noqa: ARG002 (same for all)
        """Look at the field."""
        return getattr(row, self.name) is not None


@dataclass(frozen=True, slots=True)
class LongerThan(Condition):
    """A list has more than `length` elements; None counts as empty."""

    name: str
    length: int

    def holds(self, row: Any, context: RowContext) -> bool:  # Any: see the module  # noqa: ARG002 (same for all)
        """Measure the list."""
        return len(getattr(row, self.name) or ()) > self.length


@dataclass(frozen=True, slots=True)
class IsEmpty(Condition):
    """A list has no elements, or is None."""

    name: str

    def holds(self, row: Any, context: RowContext) -> bool:  # Any: see the module  # noqa: ARG002 (same for all)
        """Measure the list."""
        return not getattr(row, self.name)


@dataclass(frozen=True, slots=True)
class Contains(Condition):
    """A text has `part` in it."""

    name: str
    part: str

    def holds(self, row: Any, context: RowContext) -> bool:  # Any: see the module  # noqa: ARG002 (same for all)
        """Search the text."""
        return self.part in getattr(row, self.name)


@dataclass(frozen=True, slots=True)
class EqualsIgnoringCase(Condition):
    """A text is this one, in whatever case."""

    name: str
    value: str

    def holds(self, row: Any, context: RowContext) -> bool:  # Any: see the module  # noqa: ARG002 (same for all)
        """Compare the text."""
        text = getattr(row, self.name)
        return text is not None and text.strip().lower() == self.value


@dataclass(frozen=True, slots=True)
class HasUnderivableDirectory(Condition):
    """A replica lies in a directory that is known and would not be guessed.

    Without a directory in the record, a replica can only lie in its broker's one log dir. So nothing is lost where
    the broker is registered with exactly one, nor where the directory was not known in the first place.
    """

    def holds(self, row: Any, context: RowContext) -> bool:  # Any: see the module
        """Look at each replica's broker."""
        directories = row.directories
        if not directories:
            return False
        counts = context.log_dir_counts
        for replica, directory in zip(row.replicas, directories, strict=True):
            if directory != MIGRATING and counts.get(replica) != 1:
                return True
        return False


@dataclass(frozen=True, slots=True)
class AllOf(Condition):
    """All of these hold."""

    parts: tuple[Condition, ...]

    def holds(self, row: Any, context: RowContext) -> bool:  # Any: see the module
        """Ask all."""
        for part in self.parts:  # noqa: SIM110 (asked of every partition: a generator doubles the time)
            if not part.holds(row, context):
                return False
        return True


@dataclass(frozen=True, slots=True)
class AnyOf(Condition):
    """One of these holds, or more."""

    parts: tuple[Condition, ...]

    def holds(self, row: Any, context: RowContext) -> bool:  # Any: see the module
        """Ask until one holds."""
        for part in self.parts:  # noqa: SIM110 (asked of every partition: a generator doubles the time)
            if part.holds(row, context):
                return True
        return False
