"""A checkpoint of a log directory, in pieces: one offset changes without making the lines of all logs anew."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from falkirk.storage.checkpoint_text import checkpoint_header, checkpoint_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypeAlias

    PartitionKey: TypeAlias = tuple[str, int]

LOGS_AT_ONCE: Final = 2048
"""How many logs of a checkpoint are gone through in one step: some milliseconds."""


class LogCheckpoint:
    """Offsets by topic and partition, and the lines of the file for them."""

    def __init__(self) -> None:
        self._pieces: list[dict[PartitionKey, int]] = []
        # None: to be made.
        self._lines: list[bytes | None] = []

    @classmethod
    def of(cls, offsets: Mapping[PartitionKey, int]) -> LogCheckpoint:
        """Return a checkpoint of these offsets, whose lines are made when they are used."""
        checkpoint, entries = cls(), iter(offsets.items())
        while piece := dict(islice(entries, LOGS_AT_ONCE)):
            checkpoint._pieces.append(piece)
            checkpoint._lines.append(None)
        return checkpoint

    def add(self, piece: dict[PartitionKey, int]) -> None:
        """Add the offsets of up to LOGS_AT_ONCE further partitions."""
        self._pieces.append(piece)
        self._lines.append(_lines(piece))

    def offset(self, partition: PartitionKey) -> int | None:
        """Return the offset of a partition; None if it has none."""
        place = self._place(partition)
        return None if place is None else self._pieces[place][partition]

    def put(self, partition: PartitionKey, offset: int | None) -> None:
        """Set the offset of a partition; None: it goes."""
        place = self._place(partition)
        if offset is None:
            if place is None:
                return
            del self._pieces[place][partition]
        else:
            if place is None:
                if not self._pieces or len(self._pieces[-1]) >= LOGS_AT_ONCE:
                    self.add({})
                place = len(self._pieces) - 1
            self._pieces[place][partition] = offset
        self._lines[place] = None

    def forget(self, partition: PartitionKey, is_there: Callable[[PartitionKey], bool]) -> bool:
        """Remove a partition, and those near it that are not there either; return whether it had an offset."""
        place = self._place(partition)
        if place is None:
            return False
        piece = self._pieces[place]
        self._pieces[place] = {key: offset for key, offset in piece.items() if key != partition and is_there(key)}
        self._lines[place] = None
        return True

    def chunks(self) -> Iterator[bytes]:
        """Yield the content of the file."""
        yield checkpoint_header(sum(map(len, self._pieces)))
        for place, known in enumerate(self._lines):
            lines = known or _lines(self._pieces[place])
            self._lines[place] = lines
            yield lines

    def __eq__(self, other: object) -> bool:
        """Return whether the same offsets are in the same pieces."""
        return isinstance(other, LogCheckpoint) and self._pieces == other._pieces

    __hash__ = None  # type: ignore[assignment]

    def _place(self, partition: PartitionKey) -> int | None:
        return next((place for place, piece in enumerate(self._pieces) if partition in piece), None)


def _lines(piece: Mapping[PartitionKey, int]) -> bytes:
    entries: Iterable[tuple[object, ...]] = ((*partition, offset) for partition, offset in piece.items())
    return checkpoint_lines(entries)
