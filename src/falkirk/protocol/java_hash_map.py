"""The iteration order of Java's hash maps, in which Kafka writes several lists.

A map is a power of two of chains, at most three quarters full; a chain keeps the order in which its keys came, also
when the map grows. Source: the documentation of `java.util.HashMap`, and the observed order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

CAPACITY: Final = 16
"""How many chains a new map has."""
_MASK: Final = (1 << 32) - 1


def java_string_hash(text: str) -> int:
    """Return `String.hashCode`, as a signed int of 32 bits."""
    value = 0
    if text.isascii():
        for code in text.encode():
            value = (31 * value + code) & _MASK
    else:
        data = text.encode("utf-16-be", "surrogatepass")
        for at in range(0, len(data), 2):
            value = (31 * value + (data[at] << 8 | data[at + 1])) & _MASK
    return value - (1 << 32) if value >= 1 << 31 else value


def map_order(keys: Sequence[str], capacity: int = CAPACITY) -> list[str]:
    """Return the keys in the order of a map of initial `capacity` into which they were put one after the other."""
    while len(keys) > capacity * 3 // 4:
        capacity *= 2
    return sorted(keys, key=lambda key: chain_of(key, capacity))


def chain_of(key: str, capacity: int) -> int:
    """Return the bucket of a key in a map with `capacity` buckets."""
    return _spread(java_string_hash(key)) & (capacity - 1)


def copy_capacity(size: int) -> int:
    """Return the initial capacity of a map that is a copy of one with `size` keys."""
    if size == 0:
        return CAPACITY
    return 1 << int(size / 0.75).bit_length()


def _spread(code: int) -> int:
    unsigned = code & _MASK
    return unsigned ^ (unsigned >> 16)
