"""Detect whether a file has only grown since its bytes went into a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.pipeline.filesystem import Location
    from falkirk.pipeline.warehouse.manifest import Piece

CHECKED_BYTES: Final = 4096
"""Logs are either appended to or written anew, so this many bytes before an end identify everything before it."""
NOT_WHOLE: Final = -1
"""In the place of a CRC: the bytes of a piece were not all read, so the next ingest reads them again."""


def end_crc(location: Location, end: int) -> int:
    """Return the CRC of the last CHECKED_BYTES before `end`."""
    start = max(end - CHECKED_BYTES, 0)
    return crc32(location.disk.read(location.path, start, end - start))


def has_only_grown(location: Location, size: int, piece: Piece) -> bool:
    """Return whether the file still has, up to the piece's end, the bytes that the piece was made of."""
    return size >= piece.end and end_crc(location, piece.end) == piece.end_crc


def fingerprint(locations: Iterable[Location], *facts: object) -> str:
    """Return a text that changes when a file, its size, its last bytes or one of the facts changes.

    A file that cannot be read counts by the reason.
    """
    parts = [repr(fact) for fact in facts]
    for location in locations:
        try:
            size = location.disk.size(location.path)
            parts.append(f"{location.uri} {size} {end_crc(location, size):08x}")
        except OSError as error:
            parts.append(f"{location.uri} {error}")
    return f"{crc32(chr(10).join(parts).encode()):08x}-{len(parts)}"
