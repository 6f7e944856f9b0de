"""Compares the answers of two clusters, fact by fact."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


class _Missing:
    """Stands for a fact that one side does not have."""

    def __repr__(self) -> str:
        return "(nothing)"


MISSING = _Missing()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One fact that differs: its path, what it was and what it is (MISSING if absent)."""

    path: tuple[str, ...]
    before: Any  # Any: a JSON value
    after: Any  # Any: a JSON value

    def __str__(self) -> str:
        return f"{'/'.join(self.path)}: {self.before!r} -> {self.after!r}"


def differences(before: Any, after: Any) -> list[Difference]:  # Any: two JSON documents
    """All differences of two documents, as small as possible: objects by key, arrays of plain items as sets.

    Arrays of objects are compared by position.
    """
    return list(_differences((), before, after))


def facts(document: Any) -> int:  # Any: a JSON document
    """Count the single values of a document, on which a statement of equality rests."""
    if isinstance(document, dict):
        return sum(facts(value) for value in document.values())
    if isinstance(document, list):
        return sum(facts(value) for value in document)
    return 1


def _differences(path: tuple[str, ...], before: Any, after: Any) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from _differences((*path, key), before.get(key, MISSING), after.get(key, MISSING))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _array_differences(path, before, after)
    elif before != after or type(before) is not type(after):
        yield Difference(path=path, before=before, after=after)


def _array_differences(path: tuple[str, ...], before: list[Any], after: list[Any]) -> Iterator[Difference]:
    if any(isinstance(item, dict | list) for item in before + after):
        for number in range(max(len(before), len(after))):
            old = before[number] if number < len(before) else MISSING
            new = after[number] if number < len(after) else MISSING
            yield from _differences((*path, str(number)), old, new)
        return
    if before == after:
        return
    gone = [Difference(path=(*path, str(item)), before=item, after=MISSING) for item in before if item not in after]
    come = [Difference(path=(*path, str(item)), before=MISSING, after=item) for item in after if item not in before]
    # The same items, but in another order or another number of times.
    yield from gone + come or [Difference(path=path, before=before, after=after)]
