"""Mapped arrays: their elements are made while the message is encoded, so that there is one of them at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, TypeVar, cast, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from falkirk.protocol.schema import WireMessage

T = TypeVar("T")
R = TypeVar("R")


def mapped_array(make: Callable[[T], R], items: Collection[T]) -> list[R]:
    """Return an array for a field of a message: `make` of each item, called again each time the message is encoded.

    For responses with an element for each one of a request, of which a client may send many. Encoders need no more of
    an array than its length and its elements in order.
    """
    return cast("list[R]", _MappedArray(make, items))


def has_mapped_array(message: WireMessage) -> bool:
    """Return whether one of a message's own fields is a mapped array."""
    # `isinstance` would ask the abstract base class, which takes more than ten times as long.
    for field in message.__struct_fields__:  # noqa: SIM110 - `any` makes a generator
        if type(getattr(message, field)) is _MappedArray:
            return True
    return False


class _MappedArray(Sequence[R], Generic[T, R]):
    __hash__ = None  # type: ignore[assignment]  # as a list

    def __init__(self, make: Callable[[T], R], items: Collection[T]) -> None:
        self._make = make
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[R]:
        return map(self._make, self._items)

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> list[R]: ...
    def __getitem__(self, index: int | slice) -> R | list[R]:
        return list(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list | _MappedArray) and list(self) == list(other)
