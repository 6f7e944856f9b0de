"""Whether a file has only grown since its bytes went into a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.pipeline.filesystem import Location
    from falkirk.pipeline.ingest.manifest import Piece

CHECKED_BYTES: Final = 4096
"""So many bytes before an end tell whether everything before it is as it was: logs are appended to, or written anew."""


def end_crc(location: Location, end: int) -> int:
    """Give the CRC of the last bytes before `end`."""
    start = max(end - CHECKED_BYTES, 0)
    return crc32(location.disk.read(location.path, start, end - start))


def has_only_grown(location: Location, size: int, piece: Piece) -> bool:
    """Say whether the file still has, up to the piece's end, the bytes that the piece was made of."""
    return size >= piece.end and end_crc(location, piece.end) == piece.end_crc


def fingerprint(locations: Iterable[Location], *facts: object) -> str:
    """Give a text that is another one as soon as a file, its size or its last bytes are others, or a fact is."""
    parts = [repr(fact) for fact in facts]
    for location in locations:
        size = location.disk.size(location.path)
        parts.append(f"{location.uri} {size} {end_crc(location, size):08x}")
    return f"{crc32(chr(10).join(parts).encode()):08x}-{len(parts)}"
