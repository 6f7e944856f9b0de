"""A place in a log that epochs tell apart: the end of a snapshot, the point where two logs part."""

from typing import NamedTuple


class OffsetAndEpoch(NamedTuple):
    """An offset (exclusive where it ends something) and the epoch of the last record before it."""

    offset: int
    epoch: int
