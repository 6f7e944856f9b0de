"""A piece of a metadata snapshot, as it is fetched (KIP-630)."""

from typing import NamedTuple


class SnapshotChunk(NamedTuple):
    """A part of a snapshot's file, and how large the whole file is."""

    data: bytes
    size: int
