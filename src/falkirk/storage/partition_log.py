"""A partition's directory as a whole: its files, and its segments in order."""

from collections.abc import Iterator
from dataclasses import dataclass

from falkirk.storage.disk import ReadableDisk
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.segment import SegmentFile, SegmentReader, format_segment_file, parse_segment_file
from falkirk.storage.snapshot_file import SnapshotName, parse_snapshot_name


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFiles:
    """The files of a partition's directory, each kind in increasing order."""

    segments: tuple[int, ...]
    """Base offsets of the `.log` files."""
    segment_files: tuple[SegmentFile, ...]
    """All files of segments without a marker: logs, indexes, producer snapshots."""
    marked_files: tuple[SegmentFile, ...]
    """Files of segments with a marker: unfinished work of a cleaner or a deletion (`swap` has valid data)."""
    metadata_snapshots: tuple[SnapshotName, ...]
    """Snapshots of the metadata partition, partial and deleted ones too."""
    other_files: tuple[str, ...]


def list_partition(disk: ReadableDisk, directory: str) -> PartitionFiles:
    """List and sort the files of a partition's directory."""
    segment_files: list[SegmentFile] = []
    snapshots: list[SnapshotName] = []
    others: list[str] = []
    for name in disk.list(directory):
        file, snapshot = parse_segment_file(name), parse_snapshot_name(name)
        if file is not None:
            segment_files.append(file)
        elif snapshot is not None:
            snapshots.append(snapshot)
        else:
            others.append(name)
    return PartitionFiles(
        segments=tuple(file.base_offset for file in segment_files if file.kind == "log" and not file.marker),
        segment_files=tuple(file for file in segment_files if not file.marker),
        marked_files=tuple(file for file in segment_files if file.marker),
        metadata_snapshots=tuple(sorted(snapshots, key=lambda name: name.id)),
        other_files=tuple(others),
    )


def read_segments(
    disk: ReadableDisk,
    directory: str,
    *,
    contiguous: bool = False,
    check_crc: bool = True,
    cuts_bad_end: bool = False,
) -> Iterator[SegmentReader]:
    """Yield a reader for each segment in offset order; each must be iterated to its end before the next.

    `contiguous` and `cuts_bad_end` as for SegmentReader. Raises CorruptFileError if a segment but the last is torn, or
    begins before the end of the one before (`contiguous`: not exactly there).
    """
    before: SegmentReader | None = None
    for base_offset in list_partition(disk, directory).segments:
        file = f"{directory}/{format_segment_file(SegmentFile(base_offset=base_offset, kind='log'))}"
        if before is not None:
            _check_border(before, base_offset, file, contiguous=contiguous)
        before = SegmentReader(
            disk.view(file),
            file=file,
            base_offset=base_offset,
            contiguous=contiguous,
            check_crc=check_crc,
            cuts_bad_end=cuts_bad_end,
        )
        yield before


def _check_border(before: SegmentReader, base_offset: int, file: str, *, contiguous: bool) -> None:
    assert before.is_finished
    if before.torn is not None:
        reason = f"{before.torn}, and a segment follows"
        raise CorruptFileError(reason, offset=before.torn.position, file=before.file)
    if base_offset < before.end_offset or (contiguous and base_offset != before.end_offset):
        reason = f"segment begins at offset {base_offset}, {before.end_offset} was expected after {before.file}"
        raise CorruptFileError(reason, offset=0, file=file)
