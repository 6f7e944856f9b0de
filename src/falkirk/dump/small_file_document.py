"""Files that are no logs, for JSON: indexes, producer snapshots, transaction indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.dump.dump_source import FileKind
from falkirk.dump.finding import Findings, Problem
from falkirk.dump.index_dump import IndexedLog, check_offset_index, check_time_index, offset_entries, time_entries
from falkirk.dump.text_dump import first_sequence
from falkirk.dump.transaction_dump import aborted_transactions
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.producer_state import parse_producer_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.dump.dump_source import DumpSource
    from falkirk.dump.options import DumpOptions
    from falkirk.storage.producer_state import ProducerEntry

Fields = dict[str, object]


def small_file_document(source: DumpSource, options: DumpOptions, problems: list[Problem]) -> Fields:
    """Return the fields of a file after its name and kind, as far as it can be read; adds to `problems`.

    Raises OSError, and CorruptFileError for a file name without an offset.
    """
    match source.kind:
        case FileKind.OFFSET_INDEX | FileKind.TIME_INDEX:
            return _index(source, options, problems)
        case FileKind.PRODUCER_SNAPSHOT:
            entries = parse_producer_snapshot(bytes(source.view()), file=source.path)
            return {"producers": [_producer(entry) for entry in entries]}
        case _:
            return {"abortedTransactions": list(_transactions(source, problems))}


def _index(source: DumpSource, options: DumpOptions, problems: list[Problem]) -> Fields:
    base_offset, data, beside = source.base_offset, source.view(), source.beside(".log")
    log = IndexedLog(beside.view(), file=beside.path, base_offset=base_offset)
    entries: list[Fields] = []
    findings = Findings()
    is_time = source.kind is FileKind.TIME_INDEX
    try:
        if options.index_sanity_only:
            check = check_time_index if is_time else check_offset_index
            check(data, file=source.path, base_offset=base_offset)
        elif is_time:
            index = source.beside(".index").view()
            for timestamp, offset in time_entries(data, index, log, findings, file=source.path, absolute=source.path):
                entries.append({"timestamp": timestamp, "offset": offset})
        else:
            bytes_max = options.message_bytes_max
            for offset, position in offset_entries(
                data, log, findings, file=source.path, absolute=source.path, message_bytes_max=bytes_max
            ):
                entries.append({"offset": offset, "position": position})
    except CorruptFileError as error:
        problems.append(Problem(file=error.file, position=error.offset, message=error.reason))
    problems.extend(_misfits(source, findings))
    return {"baseOffset": base_offset, "entries": entries}


def _misfits(source: DumpSource, findings: Findings) -> Iterator[Problem]:
    """Yield what does not fit between an index and its log; the log is right, and Kafka rebuilds the index."""
    for offset, found in findings.index_mismatches.get(source.path, ()):
        yield _misfit(source, f"entry of offset {offset} points at a batch that ends at offset {found}")
    for timestamp, found in findings.timestamp_mismatches.get(source.path, ()):
        yield _misfit(source, f"entry of timestamp {timestamp} is of a batch whose largest timestamp is {found}")
    for timestamp, before in findings.unordered_timestamps.get(source.path, ()):
        yield _misfit(source, f"entry of timestamp {timestamp} follows one of {before}")
    for offset, found in findings.missing_offsets.get(source.path, ()):
        instead = "nothing" if found < 0 else f"a batch that ends at offset {found}"
        yield _misfit(source, f"no batch ends at the indexed offset {offset}: the log has {instead} there")


def _misfit(source: DumpSource, message: str) -> Problem:
    return Problem(file=source.path, position=0, message=message, is_corrupt=False)


def _producer(entry: ProducerEntry) -> Fields:
    has_batch = entry.last_offset >= 0
    first_offset = entry.current_transaction_first_offset
    return {
        "producerId": entry.producer_id,
        "producerEpoch": entry.producer_epoch,
        "coordinatorEpoch": entry.coordinator_epoch,
        "currentTxnFirstOffset": first_offset if first_offset >= 0 else None,
        "lastTimestamp": entry.timestamp,
        "firstSequence": first_sequence(entry) if has_batch else None,
        "lastSequence": entry.last_sequence if has_batch else None,
        "lastOffset": entry.last_offset if has_batch else None,
        "offsetDelta": entry.offset_delta if has_batch else None,
    }


def _transactions(source: DumpSource, problems: list[Problem]) -> Iterator[Fields]:
    for entry in aborted_transactions(source):
        if isinstance(entry, Problem):
            problems.append(entry)
            continue
        yield {
            "producerId": entry.producer_id,
            "firstOffset": entry.first_offset,
            "lastOffset": entry.last_offset,
            "lastStableOffset": entry.last_stable_offset,
        }
