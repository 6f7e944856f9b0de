"""The iteration order of Scala's mutable hash sets and maps, in which the tools up to 4.2 print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from falkirk.protocol.java_hash_map import java_string_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

E = TypeVar("E")
_MASK: Final = 0xFFFFFFFF
_SIGN: Final = 0x80000000
_TABLE_MIN: Final = 16
_LOAD: Final = 0.75
# Immutable sets up to this size are separate classes, whose elements are added one by one.
_SMALL_SET_MAX: Final = 4


def topic_partition_hash(topic: str, partition: int) -> int:
    """Return `TopicPartition.hashCode`, as a signed int of 32 bits."""
    return _signed((31 * (31 + partition) + java_string_hash(topic)) & _MASK)


class ScalaOrder:
    """Grows like `scala.collection.mutable.HashSet` and `HashMap`, and sorts elements in their iteration order.

    Source: the observed order; a table of chains whose size is a power of two, at most three quarters full, chains
    ordered by hash.
    """

    def __init__(self) -> None:
        self._table = _TABLE_MIN
        self._size = 0

    def add_one(self, *, is_new: bool = True) -> None:
        """Add one element; the table may grow even if it is there already."""
        if self._size + 1 >= int(self._table * _LOAD):
            self._table *= 2
        self._size += is_new

    def add_set(self, count: int, *, new: int) -> None:
        """Add an immutable set of `count` elements, of which `new` are not there yet.

        For a large set the table grows beforehand, and not while its elements are added, however full it gets.
        """
        self._table = max(self._table, _table_for(int((count + 1) / _LOAD)))
        if count > _SMALL_SET_MAX:
            self._size += new
            return
        for index in range(count):
            self.add_one(is_new=index < new)

    def sort(self, elements: Iterable[E], hash_of: Callable[[E], int]) -> list[E]:
        """Sort the elements; those of one hash keep the order in which they were added."""

        def place(element: E) -> tuple[int, int]:
            spread = _spread(hash_of(element))
            return spread & (self._table - 1), _signed(spread)

        return sorted(elements, key=place)


def map_order(keys: Sequence[str]) -> list[str]:
    """Sort the keys of a map to which they were added one by one."""
    order = ScalaOrder()
    for _ in keys:
        order.add_one()
    return order.sort(keys, java_string_hash)


def _signed(value: int) -> int:
    return (value ^ _SIGN) - _SIGN


def _spread(value: int) -> int:
    unsigned = value & _MASK
    return unsigned ^ (unsigned >> 16)


def _table_for(capacity: int) -> int:
    """Return the least power of two that holds `capacity`, at least 8."""
    return int(1 << (max(capacity - 1, 4).bit_length()))
