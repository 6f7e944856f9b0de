"""What a warehouse holds of one cluster: pieces, each made of some bytes of its files, and the data files of each.

Manifests are for the next ingest. Which data files count says the Delta log of each table.
"""

from __future__ import annotations

from typing import Final

import msgspec

FORMAT: Final = 2
"""Incremented when an older falkirk could no longer read a warehouse. In format 1 the manifests said what counts."""


class DataFile(msgspec.Struct, frozen=True, kw_only=True):
    """One Parquet file; `path` is relative to the warehouse, `size` in bytes."""

    table: str
    path: str
    rows: int
    size: int = 0


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """Data files that are made, and replaced, together; pieces that share a file are replaced together, too.

    `fingerprint` identifies the input; if it changes, the piece is made anew. A piece of a file that grows has `start`
    and `end` (bytes; nothing behind `end` is in a table yet) and `end_crc`, the CRC of the last bytes before `end`:
    while these bytes stay the same, the file has only grown. `made_by` identifies readers and schemas.
    """

    key: str
    kind: str
    source: str
    fingerprint: str = ""
    made_by: str = ""
    start: int = 0
    end: int = 0
    end_crc: int = 0
    files: tuple[DataFile, ...] = ()
    # For the next ingest: the tables of a state, and the node whose metadata log was chosen.
    tables: tuple[str, ...] = ()
    chosen_node: int | None = None


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """All pieces of a cluster, by key."""

    cluster: str
    cluster_id: str | None = None
    pieces: dict[str, Piece] = msgspec.field(default_factory=dict)

    def files(self) -> dict[str, DataFile]:
        """Return all data files by path."""
        return {file.path: file for piece in self.pieces.values() for file in piece.files}

    def rows(self) -> dict[str, int]:
        """Return the rows of each table that has any."""
        found: dict[str, int] = {}
        for file in self.files().values():
            found[file.table] = found.get(file.table, 0) + file.rows
        return dict(sorted(found.items()))
