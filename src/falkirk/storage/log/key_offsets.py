"""The offset of the last record of each key, as far as it fits into a given memory (Kafka's OffsetMap)."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.protocol.record import Record

# The overhead of a bytes object, an int, and a hash table that is two thirds full.
_ENTRY_BYTES: Final = 33 + 32 + 104
_KEY_BYTES_MAX: Final = 32
_HASH_BYTES: Final = 33


class KeyOffsets:
    """Holds keys of up to 32 bytes as they are, longer ones by a hash that is longer than those.

    Differs from Kafka: an entry takes 24 bytes there, whatever the key (its MD5), and some 200 in a dict; so less of a
    long dirty section is cleaned at once. `latest_offset`: the log is covered up to here.
    """

    def __init__(self, bytes_max: int) -> None:
        self.latest_offset = -1
        self._bytes_max = bytes_max
        self._bytes = 0
        self._offsets: dict[bytes, int] = {}

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._offsets)

    def add(self, records: Iterable[Record], start_offset: int) -> bool:
        """Add the records of a batch from `start_offset` on; return whether all of them fit.

        The first batch always does: else nothing would ever be cleaned.
        """
        must_fit = self.latest_offset >= 0
        offsets = self._offsets
        for record in records:
            if record.key is None or record.offset < start_offset:
                continue
            key = _short(record.key)
            if key not in offsets:
                if must_fit and self._bytes >= self._bytes_max:
                    return False
                self._bytes += len(key) + _ENTRY_BYTES
            offsets[key] = record.offset
        return True

    def is_latest(self, key: bytes, offset: int) -> bool:
        """Return whether no later record of that key is known."""
        return offset >= self._offsets.get(_short(key), -1)


def _short(key: bytes) -> bytes:
    return key if len(key) <= _KEY_BYTES_MAX else blake2b(key, digest_size=_HASH_BYTES).digest()
