"""Compare files with the pieces made of them: which pieces stay, and which ranges are still to be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from falkirk.pipeline.ingest.file_growth import end_crc, has_only_grown
from falkirk.pipeline.ingest.unit import Unit, UnitKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from falkirk.pipeline.filesystem import Location
    from falkirk.pipeline.warehouse.manifest import Piece

SMALL_PIECES_MAX: Final = 16
"""A file with more small pieces than this is read again into large ones."""
SMALL_BYTES: Final = 1 << 20
HEAD_BYTES: Final = 512
"""The first bytes that identify a request log whatever its name: a full log is renamed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file whose records go into a table."""

    kind: UnitKind
    cluster: str
    location: Location
    node_id: int | None
    partition: int = 0
    is_snapshot: bool = False

    def unit(self, start: int, end: int) -> Unit:
        """Make the unit of work for a range of bytes."""
        return Unit(
            kind=self.kind,
            cluster=self.cluster,
            location=self.location,
            node_id=self.node_id,
            start=start,
            end=end,
            partition=self.partition,
            is_snapshot=self.is_snapshot,
        )


@dataclass(slots=True, kw_only=True)
class NewBytes:
    """Pieces of one kind that stay, and the work that is left."""

    kept: list[Piece] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    unreadable: list[tuple[SourceFile, OSError]] = field(default_factory=list)


def new_bytes(
    files: Iterable[SourceFile],
    pieces: Sequence[Piece],
    split: Callable[[Location, int, int], Sequence[tuple[int, int]]],
) -> NewBytes:
    """Compare files with the pieces made of them; pieces of deleted and of unreadable files do not stay.

    `split(location, start, end)` cuts a range into the ranges of single units.
    """
    by_source: dict[str, list[Piece]] = {}
    for piece in sorted(pieces, key=lambda piece: piece.start):
        by_source.setdefault(piece.source, []).append(piece)
    found = NewBytes()
    for file in files:
        try:
            size = file.location.disk.size(file.location.path)
            of_file = _pieces_of(file, size, by_source)
            start = of_file[-1].end if of_file else 0
            ranges = split(file.location, start, size) if size > start else ()
        except OSError as error:
            found.unreadable.append((file, error))
            continue
        found.kept += of_file
        found.units += [file.unit(*each) for each in ranges]
    return found


def _pieces_of(file: SourceFile, size: int, by_source: dict[str, list[Piece]]) -> list[Piece]:
    """Return the pieces that are still valid: none if the file was written anew, or has too many small ones."""
    pieces = by_source.get(file.location.uri, [])
    if file.kind is UnitKind.REQUESTS and not _holds(file, size, pieces):
        renamed = next((each for each in by_source.values() if _holds(file, size, each)), [])
        pieces = [
            msgspec.structs.replace(piece, key=file.unit(piece.start, piece.end).key, source=file.location.uri)
            for piece in renamed
        ]
    if not _holds(file, size, pieces):
        return []
    small = sum(piece.end - piece.start < SMALL_BYTES for piece in pieces)
    return [] if small > SMALL_PIECES_MAX and size > pieces[-1].end else pieces


def _holds(file: SourceFile, size: int, pieces: Sequence[Piece]) -> bool:
    if not pieces or not has_only_grown(file.location, size, pieces[-1]):
        return False
    if file.kind is not UnitKind.REQUESTS:
        return True
    # Equal ends are more frequent among lines than among batches.
    return pieces[0].fingerprint == head_fingerprint(file.location, pieces[0].end)


def head_fingerprint(location: Location, end: int) -> str:
    """Identify a file by its first bytes, as far as its first piece goes."""
    return f"{end_crc(location, min(end, HEAD_BYTES)):08x}"
