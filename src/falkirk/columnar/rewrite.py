"""Rewrites the data records of a snapshot at another metadata.version, in bulk.

Records that are the same at both levels go through as bytes, whole batches of them without a copy. PartitionRecords are
written at a lower version by cutting off what it lacks, all of a batch at once. Every other record, and the rare
PartitionRecord that has to be converted and not just cut, goes through a callback that uses the row codec.

What is lost on the way is not decided here: whoever has tables asks the loss catalogue of their columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

import numpy as np

from falkirk.columnar.batch_table import iter_batch_tables
from falkirk.columnar.kernels import NO_TYPE, NULL, load_kernels
from falkirk.columnar.partition_rewrite import ELR_VERSION, PARTITION_RECORD, cut_partitions
from falkirk.columnar.record_bodies import iter_record_bodies
from falkirk.columnar.report import ReadReport
from falkirk.columnar.rewritten_batches import NO_VERSION, RewrittenRecords, write_batches
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import METADATA_RECORDS, PartitionRecord, message_class
from falkirk.protocol.metadata_record import decode_frame
from falkirk.protocol.record_batch import HEADER_BYTES, read_batch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from falkirk.columnar.kernels import Kernels
    from falkirk.columnar.record_bodies import RecordBodies
    from falkirk.versions.metadata_version import MetadataVersion

# TopicRecord, ConfigRecord, ClientQuotaRecord, ProducerIdsRecord, AccessControlEntryRecord.
PASSED_TYPES: Final = frozenset({2, 4, 14, 15, 18})
"""Types whose records are the same bytes at every level from 3.3-IV0 on."""


class RecordToConvert(NamedTuple):
    """A record that the callback has to write; `value` with its frame, as it stands in the snapshot."""

    offset: int
    record_type: int
    version: int
    value: bytes


Convert = Callable[[RecordToConvert], Sequence[bytes] | None]
"""Gives the values that take a record's place, frame included: none drops it, None keeps it as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteTarget:
    """What the records are to become."""

    metadata_version: MetadataVersion
    # Whether eligible leader replicas stay, where the level has them (PartitionRecord version 2).
    elr_enabled: bool
    # Offset of the first data record: the number of control records before it.
    base_offset: int
    # Leader epoch of all batches; None: as they have it.
    epoch: int | None = None
    # Types that go through as bytes; records of all others but PartitionRecord go to the callback.
    passed_types: frozenset[int] = PASSED_TYPES

    @property
    def partition_version(self) -> int:
        """Give the version of PartitionRecord."""
        return self.metadata_version.partition_record_version

    @property
    def keeps_elr(self) -> bool:
        """Say whether a PartitionRecord may have eligible leader replicas afterwards."""
        return self.elr_enabled and self.partition_version >= ELR_VERSION


@dataclass(slots=True, kw_only=True)
class RewriteReport:
    """Filled while the rewriting runs."""

    # Records that went through as bytes, in whole batches or one by one.
    passed: int = 0
    # PartitionRecords whose end was cut off.
    cut: int = 0
    # Records given to the callback, and those that it gave for them (or kept).
    converted: int = 0
    converted_to: int = 0
    # Base offset for what follows the rewritten records (the snapshot's footer).
    end_offset: int = 0


def rewrite_snapshot(
    buffer: Any,  # Any: whatever has the buffer protocol
    target: RewriteTarget,
    convert: Convert,
    *,
    report: RewriteReport | None = None,
    jit: bool = False,
    check_crc: bool = True,
) -> Iterator[memoryview]:
    """Give the data records of a snapshot in batches at the target level, in order: pieces to be written as they come.

    Control batches (header, voters, footer) are left out: who writes the new snapshot puts its own around the result.
    `convert` gets each record that neither passes nor is cut; among them are PartitionRecords of a lower version than
    the target's, and those that lose their eligible leader replicas while their ISR is empty and only a last known
    leader is left.
    Raises RemoteProtocolError at the first batch that is corrupt, or record that is no metadata record.
    """
    report = RewriteReport() if report is None else report
    report.end_offset = target.base_offset
    rewriter = _Rewriter(load_kernels(jit=jit), target, convert, report)
    problems = ReadReport(strict=True)
    for table in iter_batch_tables(buffer, problems, check_crc=check_crc):
        for bodies in iter_record_bodies(table, problems):
            yield from rewriter.rewritten(bodies)


class _Rewriter:
    """Goes through a snapshot, chunk by chunk; keeps count of the offsets."""

    def __init__(self, kernels: Kernels, target: RewriteTarget, convert: Convert, report: RewriteReport) -> None:
        self._kernels = kernels
        self._target = target
        self._convert = convert
        self._report = report
        codes = [_code(type_, version) for type_ in target.passed_types for version in _versions(type_)]
        if target.keeps_elr or target.partition_version < ELR_VERSION:
            codes.append(_code(PARTITION_RECORD, target.partition_version))
        self._passes = np.zeros(NO_TYPE + 1, np.bool_)
        self._passes[codes] = True

    def rewritten(self, bodies: RecordBodies) -> Iterator[memoryview]:
        """Give the batches of a chunk: those without a change as they are, but for offset and epoch."""
        table = bodies.table
        count = table.column("record_count").astype(np.int64)
        start, sound = self._kernels.hop_records(bodies.data, bodies.start, bodies.end, count)
        if not sound.all():
            _reject(bodies, int(np.flatnonzero(~sound)[0]))
        codes = self._kernels.peek_types(bodies.data, start)
        passes = self._passes[codes]
        behind = np.cumsum(count)
        first = behind - count
        # What was compressed is written anew, as KRaft's own snapshots are: uncompressed.
        changed = table.is_compressed.copy()
        changed[np.searchsorted(behind, np.flatnonzero(~passes), side="right")] = True
        for low, high in _runs(np.where(table.is_control | (count == 0), _LEFT_OUT, changed)):
            if changed[low]:
                records = slice(int(first[low]), int(first[high - 1] + count[high - 1]))
                yield self._changed(bodies, slice(low, high), start[records], codes[records], passes[records])
            else:
                yield from self._unchanged(bodies, range(low, high))

    def _unchanged(self, bodies: RecordBodies, batches: range) -> Iterator[memoryview]:
        """Give whole batches: a new header each (the CRC covers neither offset nor epoch), and the bytes behind it."""
        table = bodies.table
        header = table.header[batches.start : batches.stop].copy()
        counts = header["record_count"].astype(np.int64)
        header["base_offset"] = self._report.end_offset + np.cumsum(counts) - counts
        if self._target.epoch is not None:
            header["leader_epoch"] = self._target.epoch
        self._report.end_offset += int(counts.sum())
        self._report.passed += int(counts.sum())
        starts, ends = table.position.tolist(), table.end.tolist()
        for index, batch in enumerate(batches):
            if int(header["last_offset_delta"][index]) != counts[index] - 1:
                _reject(bodies, batch, "a snapshot's batch has gaps between its offsets")
            yield memoryview(header[index].tobytes())
            yield table.buffer[starts[batch] + HEADER_BYTES : ends[batch]]

    def _changed(
        self,
        bodies: RecordBodies,
        batches: slice,
        start: NDArray[np.int64],
        codes: NDArray[np.uint16],
        passes: NDArray[np.bool_],
    ) -> memoryview:
        table = bodies.table.select(batches)
        count = table.column("record_count").astype(np.int64)
        batch = np.repeat(np.arange(len(count)), count)
        end = np.empty_like(start)
        end[:-1] = start[1:]
        end[(np.cumsum(count) - 1)[count > 0]] = bodies.end[batches][count > 0]
        parts = self._kernels.scan_records(bodies.data, start, end)
        odd = ~parts.sound | (parts.key_size != NULL) | (parts.header_count != 0) | (parts.value_size < 0)
        if odd.any():
            index = batches.start + int(batch[np.flatnonzero(odd)[0]])
            _reject(bodies, index, "a record has a key, headers or no value, which no metadata record has")
        records = RewrittenRecords.unchanged(parts.value_at, parts.value_size, batch)
        left = ~passes
        left[self._cut(bodies.data, codes, left, records)] = False
        rows = np.flatnonzero(left)
        offset = table.column("base_offset")[batch[rows]] + parts.offset_delta[rows]
        new_values = self._converted(bodies.data, records, rows, offset)
        self._report.passed += len(batch) - len(rows) - int(np.count_nonzero(records.version != NO_VERSION))
        written = records.with_values(rows, new_values)
        self._report.converted += len(rows)
        self._report.converted_to += len(written.size) - len(batch) + len(rows)
        first = self._report.end_offset
        self._report.end_offset += len(written.size)
        return write_batches(self._kernels, bodies.data, written, table, base_offset=first, epoch=self._target.epoch)

    def _cut(
        self, data: NDArray[np.uint8], codes: NDArray[np.uint16], left: NDArray[np.bool_], records: RewrittenRecords
    ) -> NDArray[np.int64]:
        """Cut the PartitionRecords that can be cut; give their rows, and those that are right as they are."""
        done = [np.empty(0, np.int64)]
        for version in range(self._target.partition_version, _PARTITION_VERSION_MAX + 1):
            all_rows = np.flatnonzero(left & (codes == _code(PARTITION_RECORD, version)))
            for low in range(0, len(all_rows), self._kernels.rows_per_block):
                rows = all_rows[low : low + self._kernels.rows_per_block]
                value_at = records.source_at[rows]
                cut = cut_partitions(
                    self._kernels,
                    data,
                    value_at,
                    value_at + records.size[rows],
                    version=version,
                    target_version=self._target.partition_version,
                    keeps_elr=self._target.keeps_elr,
                )
                changing = cut.can_cut & cut.changes
                changed = rows[changing]
                records.source_at[changed] = cut.source_at[changing]
                records.size[changed] = cut.kept_bytes[changing]
                records.add_new(rows[cut.is_spliced], cut.spliced)
                records.version[changed] = self._target.partition_version
                records.recovery_state[changed] = cut.recovery_state[changing]
                self._report.cut += len(changed)
                done.append(rows[cut.can_cut])
        return np.concatenate(done)

    def _converted(
        self, data: NDArray[np.uint8], records: RewrittenRecords, rows: NDArray[np.int64], offset: NDArray[np.int64]
    ) -> list[Sequence[bytes]]:
        """Ask the callback for each of some records."""
        found: list[Sequence[bytes]] = []
        for at, size, record_offset in zip(
            records.source_at[rows].tolist(), records.size[rows].tolist(), offset.tolist(), strict=True
        ):
            value = data[at : at + size].tobytes()
            record_type, version, _ = decode_frame(value)
            values = self._convert(RecordToConvert(record_offset, record_type, version, value))
            found.append([value] if values is None else values)
        return found


_PARTITION_VERSION_MAX: Final = max(PartitionRecord.SCHEMA.info.versions)
_LEFT_OUT: Final = -1


def _code(record_type: int, version: int) -> int:
    return record_type << 8 | version


def _versions(record_type: int) -> list[int]:
    return list(message_class(METADATA_RECORDS[record_type]).SCHEMA.info.versions)


def _runs(kind: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Give the (first, behind last) of batches that stand behind each other and are of one kind; _LEFT_OUT are not."""
    borders = [0, *(np.flatnonzero(np.diff(kind)) + 1).tolist(), len(kind)]
    for low, high in pairwise(borders):
        if kind[low] != _LEFT_OUT:
            yield low, high


def _reject(bodies: RecordBodies, index: int, reason: str = "columns and row codec disagree about a batch") -> NoReturn:
    """Raise what the row reader says about a batch, or else `reason`."""
    table = bodies.table
    position = int(table.position[index])
    read_batch(table.buffer, position, check_crc=False).records()
    raise RemoteProtocolError(reason, offset=table.file_position + position)
