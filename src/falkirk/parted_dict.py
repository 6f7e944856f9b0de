"""A dictionary of very many keys in parts, so that it grows a part at a time.

A dict that grows copies all of its entries at once: 30 ms at 700,000, 60 ms at twice as many.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final, Generic, TypeVar
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterator

K = TypeVar("K", bound="str | bytes")
V = TypeVar("V")

_PARTS: Final = 64


class PartedDict(Generic[K, V]):
    """Its order is one of the keys, not that in which they came, and the same in each process."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: tuple[dict[K, V], ...] = tuple({} for _ in range(_PARTS))

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[K]:
        return chain.from_iterable(self._parts)

    def __setitem__(self, key: K, value: V) -> None:
        self._part_of(key)[key] = value

    def get(self, key: K) -> V | None:
        """Return the value of a key; None if there is none."""
        return self._part_of(key).get(key)

    def pop(self, key: K) -> V | None:
        """Remove a key; return its value, None if there is none."""
        return self._part_of(key).pop(key, None)

    def values(self) -> Iterator[V]:
        """Return all values."""
        return chain.from_iterable(part.values() for part in self._parts)

    def parts(self) -> tuple[dict[K, V], ...]:
        """Return the parts, which may be changed; each has a share of the keys."""
        return self._parts

    def _part_of(self, key: K) -> dict[K, V]:
        data = key if isinstance(key, bytes) else key.encode(errors="surrogatepass")
        return self._parts[crc32(data) % _PARTS]
