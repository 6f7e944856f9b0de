"""Removes records from a partition's segments, and restores them: offsets stay, indexes are rebuilt.

The same records are removed from every replica, so replicas stay alike. A restored record has its old offset, so a
newer record of the same key wins.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from falkirk.metadata.undo.undo_bundle import RemovedBatch
from falkirk.protocol.batch_filter import filter_batch
from falkirk.protocol.compression import UNCOMPRESSED_BYTES_MAX
from falkirk.protocol.record_batch import RecordBatch, read_batches
from falkirk.storage.index import format_offset_index, format_time_index, rebuild_indexes
from falkirk.storage.partition_log import list_partition, read_segments
from falkirk.storage.producer_state import ProducerStates
from falkirk.storage.segment import SegmentFile, format_segment_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from falkirk.protocol.record import Record
    from falkirk.storage.disk import Disk


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """New files of a partition directory by name, and the batches that lost records, as they were."""

    files: dict[str, bytes]
    removed: tuple[RemovedBatch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoration:
    """New files of a partition directory by name, and the offsets of records that could not be placed."""

    files: dict[str, bytes]
    unplaced: tuple[int, ...]


def rewrite_partition(disk: Disk, directory: str, offsets: frozenset[int], appended: Sequence[bytes] = ()) -> Rewrite:
    """Remove the records at these offsets, then append batches. Raises CorruptFileError, OSError."""
    rewrite = _remove_records(disk, directory, offsets) if offsets else Rewrite(files={}, removed=())
    if not appended:
        return rewrite
    return replace(rewrite, files=rewrite.files | _append_batches(disk, directory, appended, rewrite.files))


def restore_records(
    disk: Disk, directory: str, removed: Sequence[RemovedBatch], tombstones: frozenset[int] = frozenset()
) -> Restoration:
    """Restore records that were removed, and remove the `tombstones` at these offsets.

    The partition may have been written to, and cleaned, since.
    """
    files: dict[str, bytes] = {}
    waiting = [(_only_batch(each.data), each.offsets) for each in removed]
    segments = [(reader.base_offset, list(reader)) for reader in read_segments(disk, directory)]
    end = _end_of(segments)
    for index, (base_offset, batches_there) in enumerate(segments):
        batches = _without_tombstones(batches_there, tombstones, *end)
        if batches is not batches_there:
            files |= _segment_files(base_offset, [batch.data for batch in batches])
        next_base = segments[index + 1][0] if index + 1 < len(segments) else None
        mine = [
            (batch, offsets)
            for batch, offsets in waiting
            if base_offset <= batch.base_offset and (next_base is None or batch.base_offset < next_base)
        ]
        if mine:
            waiting = [each for each in waiting if each not in mine]
            chunks, unplaced = _merged(batches, mine)
            waiting += unplaced
            files |= _segment_files(base_offset, chunks)
    return Restoration(files=files, unplaced=tuple(sorted(offset for _, offsets in waiting for offset in offsets)))


def clean_segment(
    batches: Iterable[RecordBatch],
    keep: Callable[[Record], bool],
    *,
    producers: ProducerStates,
    log_end_offset: int,
    bytes_max: int = UNCOMPRESSED_BYTES_MAX,
) -> Iterator[bytes | memoryview]:
    """Yield the segment's new `.log` in chunks; batches that lose nothing stay as they are.

    `producers` is the state at the end of the whole partition: the last batch of a producer, and the last batch of the
    log, stay as bare headers when they lose all their records. `keep` is not called for control batches: markers of
    transactions stay. Rebuild the indexes of the result with `rebuild_indexes`; `.txnindex` and producer snapshots stay
    as they are. Source: Cleaner.cleanInto.
    """
    for batch in batches:
        if batch.is_control:
            yield batch.data
            continue
        is_last = batch.end_offset == log_end_offset or producers.is_last_of_its_producer(batch)
        chunk = filter_batch(batch, keep, retain_empty=is_last, bytes_max=bytes_max)
        if chunk is not None:
            yield chunk


def _remove_records(disk: Disk, directory: str, offsets: frozenset[int]) -> Rewrite:
    segments = [(reader.base_offset, list(reader)) for reader in read_segments(disk, directory)]
    producers, log_end_offset = _end_of(segments)
    files: dict[str, bytes] = {}
    removed: list[RemovedBatch] = []
    in_order = sorted(offsets)
    for base_offset, batches in segments:
        losing = [_removed_batch(batch, in_order) for batch in batches if not batch.is_control]
        if any(losing):
            removed += [each for each in losing if each is not None]
            chunks = clean_segment(
                batches, lambda record: record.offset not in offsets, producers=producers, log_end_offset=log_end_offset
            )
            files |= _segment_files(base_offset, chunks)
    return Rewrite(files=files, removed=tuple(removed))


def _append_batches(
    disk: Disk, directory: str, batches: Sequence[bytes], rewritten: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Return the files of the last segment with the batches appended; `rewritten` replaces files of the directory."""
    base_offset = list_partition(disk, directory).segments[-1]
    name = format_segment_file(SegmentFile(base_offset=base_offset, kind="log"))
    path = f"{directory}/{name}"
    data = rewritten[name] if name in rewritten else disk.read(path, 0, disk.size(path))
    return _segment_files(base_offset, [data, *batches])


def _end_of(segments: Iterable[tuple[int, Iterable[RecordBatch]]]) -> tuple[ProducerStates, int]:
    """Return the producers' state at the end, and the end offset."""
    producers = ProducerStates()
    log_end_offset = 0
    for _, batches in segments:
        for batch in batches:
            producers.append(batch)
            log_end_offset = batch.end_offset
    return producers, log_end_offset


def _without_tombstones(
    batches: list[RecordBatch], offsets: frozenset[int], producers: ProducerStates, log_end_offset: int
) -> list[RecordBatch]:
    """Return the batches without the tombstones at these offsets; the list itself if it has none of them."""
    in_order = sorted(offsets)
    if not any(not batch.is_control and _removed_batch(batch, in_order) for batch in batches):
        return batches

    def stays(record: Record) -> bool:
        return record.value is not None or record.offset not in offsets

    chunks = clean_segment(batches, stays, producers=producers, log_end_offset=log_end_offset)
    return list(read_batches(b"".join(bytes(chunk) for chunk in chunks)))


def _removed_batch(batch: RecordBatch, offsets: list[int]) -> RemovedBatch | None:
    # Batches are many and losses few: only one that spans such an offset is decoded.
    spanned = offsets[bisect_left(offsets, batch.base_offset) : bisect_right(offsets, batch.last_offset)]
    if not spanned:
        return None
    found = frozenset(record.offset for record in batch.records()).intersection(spanned)
    return RemovedBatch(data=bytes(batch.data), offsets=found) if found else None


def _only_batch(data: bytes) -> RecordBatch:
    [batch] = read_batches(data)
    return batch


def _merged(
    batches: list[RecordBatch], removed: list[tuple[RecordBatch, frozenset[int]]]
) -> tuple[list[bytes], list[tuple[RecordBatch, frozenset[int]]]]:
    """Merge original batches into the current ones by offset; also return those without a place."""
    by_base = {batch.base_offset: (batch, offsets) for batch, offsets in removed}
    placed: list[tuple[int, bytes]] = []
    unplaced: list[tuple[RecordBatch, frozenset[int]]] = []
    spans = [(batch.base_offset, batch.last_offset) for batch in batches]
    for batch in batches:
        original, offsets = by_base.pop(batch.base_offset, (None, frozenset[int]()))
        if original is None:
            placed.append((batch.base_offset, bytes(batch.data)))
        elif original.last_offset != batch.last_offset:
            placed.append((batch.base_offset, bytes(batch.data)))
            unplaced.append((original, offsets))
        else:
            present = {record.offset for record in batch.records()} | offsets
            placed.append((batch.base_offset, _kept(original, present)))
    for original, offsets in by_base.values():
        if any(first <= original.last_offset and original.base_offset <= last for first, last in spans):
            unplaced.append((original, offsets))
        else:
            placed.append((original.base_offset, _kept(original, offsets)))
    return [data for _, data in sorted(placed)], unplaced


def _kept(batch: RecordBatch, offsets: Iterable[int]) -> bytes:
    wanted = frozenset(offsets)

    def is_wanted(record: Record) -> bool:
        return record.offset in wanted

    kept = filter_batch(batch, is_wanted)
    assert kept is not None
    return bytes(kept)


def _segment_files(base_offset: int, chunks: Iterable[bytes | memoryview]) -> dict[str, bytes]:
    data = b"".join(bytes(chunk) for chunk in chunks)
    offset_index, time_index = rebuild_indexes(read_batches(data), base_offset=base_offset)
    return {
        format_segment_file(SegmentFile(base_offset=base_offset, kind="log")): data,
        format_segment_file(SegmentFile(base_offset=base_offset, kind="index")): format_offset_index(offset_index),
        format_segment_file(SegmentFile(base_offset=base_offset, kind="timeindex")): format_time_index(time_index),
    }
