"""What the opening of a log cut off it: how much, what was valid of it, and where it is kept.

Kafka treats all damage at a start as an unfinished write and truncates. The same is done here, but bytes that are more
than an unfinished write stay beside the log in `.cut` files, which no broker reads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from falkirk.protocol.errors import RemoteProtocolError
from falkirk.storage.segment import SegmentReader, valid_batches_within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.storage.disk import Disk
    from falkirk.storage.log.data_segment import DataSegment

CUT_SUFFIX: Final = ".cut"
_PIECE_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCut:
    """`file`, `position`: the first byte that was cut off; `offset`: where the log ends now.

    `size_bytes` has all segments that were cut. `batches`, `records` and `last_offset` (None if there are none) are of
    the valid batches among them. `kept`: paths of the files that have the bytes; empty for an unfinished write.
    """

    file: str
    position: int
    offset: int
    reason: str
    size_bytes: int = 0
    batches: int = 0
    records: int = 0
    last_offset: int | None = None
    kept: tuple[str, ...] = ()


class LogCutter:
    """Examines and keeps what one log loses while it is opened; `cut` sums it up.

    All methods are called before the segment itself is changed. They raise OSError.
    """

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self.cut: LogCut | None = None

    def begin(self, file: str, position: int, offset: int, reason: str) -> None:
        """Note where and why the first bytes are cut off; later calls change nothing."""
        if self.cut is None:
            self.cut = LogCut(file=file, position=position, offset=offset, reason=reason)

    def cut_end(self, segment: DataSegment, position: int, offset: int, reason: str) -> None:
        """Add the end of a segment from `position` on; `offset` is the end of what is before."""
        self.begin(segment.path, position, offset, reason)
        tail = self._disk.view(segment.path)[position:]
        if not _is_unfinished_write(tail, offset):
            path = self._free_path(segment.path, position)
            self._disk.write(path, _pieces(tail))
            self._add_kept(path)
        self._add(tail)

    def cut_segment(self, segment: DataSegment) -> None:
        """Add a whole segment; its file is renamed."""
        self._add(self._disk.view(segment.path))
        if segment.size:
            path = self._free_path(segment.path, 0)
            self._disk.rename(segment.path, path)
            self._add_kept(path)

    def _add(self, data: memoryview) -> None:
        cut = self.cut
        assert cut is not None, "begun before"
        batches, records, last_offset = cut.batches, cut.records, cut.last_offset
        for batch in valid_batches_within(data):
            batches, records = batches + 1, records + batch.record_count
            last_offset = batch.last_offset if last_offset is None else max(last_offset, batch.last_offset)
        size_bytes = cut.size_bytes + len(data)
        self.cut = replace(cut, size_bytes=size_bytes, batches=batches, records=records, last_offset=last_offset)

    def _add_kept(self, path: str) -> None:
        assert self.cut is not None, "begun before"
        self.cut = replace(self.cut, kept=(*self.cut.kept, path))

    def _free_path(self, file: str, position: int) -> str:
        path, number = f"{file}.{position}{CUT_SUFFIX}", 0
        while self._disk.exists(path):
            number += 1
            path = f"{file}.{position}.{number}{CUT_SUFFIX}"
        return path


def _is_unfinished_write(tail: memoryview, offset: int) -> bool:
    """Return whether nothing but one batch is there, and its end is missing or zeros."""
    reader = SegmentReader(tail, file="", base_offset=offset)
    try:
        return next(iter(reader), None) is None
    except RemoteProtocolError:
        return False


def _pieces(data: memoryview) -> Iterator[memoryview]:
    for start in range(0, len(data), _PIECE_BYTES):
        yield data[start : start + _PIECE_BYTES]
