"""Files as text: what Kafka's dump tool prints of each kind, and its messages on stderr."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.dump.dump_source import BOOTSTRAP, FileKind
from falkirk.dump.finding import Findings, Problem
from falkirk.dump.index_dump import (
    OFFSET_ENTRY,
    IndexedLog,
    check_offset_index,
    check_time_index,
    offset_entries,
    time_entries,
)
from falkirk.dump.log_reader import LogReader, is_valid_batch
from falkirk.dump.log_text import LogText, optional_long
from falkirk.dump.transaction_dump import aborted_transactions
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.producer_state import parse_producer_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from falkirk.dump.dump_source import DumpSource
    from falkirk.dump.options import DumpOptions
    from falkirk.dump.tool import DumpTool
    from falkirk.storage.producer_state import ProducerEntry

_SEQUENCES: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class Message:
    """A line for stderr; `is_failure` if it sets the exit status."""

    text: str
    is_failure: bool = False


class TextDump:
    """Dumps files one after the other."""

    def __init__(self, tool: DumpTool, options: DumpOptions) -> None:
        self._tool = tool
        self._options = options
        self._findings = Findings()

    def dump(self, sources: Iterable[DumpSource]) -> Iterator[str | Message]:
        """Yield the text in pieces of whole lines, and messages in between.

        Raises CorruptFileError and OSError where the tool would end with a stack trace.
        """
        for source in sources:
            yield f"Dumping {source.path}\n"
            yield from self._file(source)
        for line in self._findings.lines(is_java=self._tool.text.is_java):
            yield Message(line)

    def _file(self, source: DumpSource) -> Iterator[str | Message]:
        match source.kind:
            case FileKind.LOG | FileKind.SNAPSHOT:
                yield _log_title(source)
                yield from self._log(source)
            case FileKind.OFFSET_INDEX:
                yield from self._offset_index(source)
            case FileKind.TIME_INDEX:
                yield from self._time_index(source)
            case FileKind.PRODUCER_SNAPSHOT:
                yield from self._producers(source)
            case FileKind.TRANSACTION_INDEX:
                yield from _transactions(source)
            case FileKind.UNKNOWN:
                yield Message(f"Ignoring unknown file {source.path}")

    def _log(self, source: DumpSource) -> Iterator[str | Message]:
        gaps = _Gaps(self._findings, source.absolute, is_java=self._tool.text.is_java)
        text = LogText(self._options, self._tool.text, file=source.path, on_record=gaps.add)
        reader = LogReader(source.view(), file=source.path, bytes_max=self._options.bytes_max)
        for batch in reader:
            is_valid = is_valid_batch(batch)
            if not is_valid:
                yield Message(str(crc_problem(source, batch.position, batch.base_offset)), is_failure=True)
            yield from text.batch(batch, is_valid=is_valid)
        torn = reader.torn()
        if torn is not None and self._options.bytes_max is None:
            yield f"Found {reader.size - reader.position} invalid bytes at the end of {source.name}\n"
            yield Message(f"{source.path}: {torn}")

    def _offset_index(self, source: DumpSource) -> Iterator[str]:
        log, data = _log_of(source), source.view()
        if len(data) < OFFSET_ENTRY.size:
            yield f"{source.path} is empty.\n"
            return
        if self._options.index_sanity_only:
            check_offset_index(data, file=source.path, base_offset=source.base_offset)
            yield f"{source.path} passed sanity check.\n"
            return
        entries = offset_entries(
            data,
            log,
            self._findings,
            file=source.path,
            absolute=source.absolute,
            message_bytes_max=self._options.message_bytes_max,
        )
        for offset, position in entries:
            if not self._options.verify_index_only:
                yield f"offset: {offset} position: {position}\n"

    def _time_index(self, source: DumpSource) -> Iterator[str]:
        log, index, data = _log_of(source), source.beside(".index").view(), source.view()
        if self._options.index_sanity_only:
            check_time_index(data, file=source.path, base_offset=source.base_offset)
            yield f"{source.path} passed sanity check.\n"
            return
        entries = time_entries(data, index, log, self._findings, file=source.path, absolute=source.absolute)
        for timestamp, offset in entries:
            if not self._options.verify_index_only:
                yield f"timestamp: {timestamp} offset: {offset}\n"

    def _producers(self, source: DumpSource) -> Iterator[str | Message]:
        """Yield the producers; as in the tool, a damaged snapshot does not end the dump."""
        try:
            entries = parse_producer_snapshot(bytes(source.view()), file=source.path)
        except CorruptFileError as error:
            yield Message(str(error), is_failure=True)
            return
        for entry in entries:
            yield self._producer(entry)

    def _producer(self, entry: ProducerEntry) -> str:
        first_offset = entry.current_transaction_first_offset
        head = (
            f"producerId: {entry.producer_id} producerEpoch: {entry.producer_epoch} "
            f"coordinatorEpoch: {entry.coordinator_epoch} "
            f"currentTxnFirstOffset: {optional_long(None if first_offset < 0 else first_offset)} "
            f"lastTimestamp: {entry.timestamp}"
        )
        if entry.last_offset < 0:
            # Up to 4.2 a blank comes before the missing part.
            return f"{head}\n" if self._tool.text.is_java else f"{head} \n"
        return (
            f"{head} firstSequence: {first_sequence(entry)} lastSequence: {entry.last_sequence} "
            f"lastOffset: {entry.last_offset} offsetDelta: {entry.offset_delta} timestamp: {entry.timestamp}\n"
        )


def crc_problem(source: DumpSource, position: int, base_offset: int) -> Problem:
    """Return the problem of a batch with a wrong CRC."""
    message = f"CRC of the batch of offset {base_offset} does not fit"
    return Problem(file=source.path, position=position, message=message, base_offset=base_offset)


def first_sequence(entry: ProducerEntry) -> int:
    """Return the sequence number of the first record in a producer's last batch; they wrap to 0 after 2^31 - 1."""
    return (entry.last_sequence - entry.offset_delta) % _SEQUENCES


class _Gaps:
    """Records where the offsets of a file's records do not follow one another."""

    def __init__(self, findings: Findings, file: str, *, is_java: bool) -> None:
        self._findings = findings
        self._file = file
        # The first tool in Java expects every log to begin at 0.
        self._next: int | None = 0 if is_java else None

    def add(self, offset: int) -> None:
        if offset != self._next and self._next is not None:
            self._findings.gaps.setdefault(self._file, []).append((self._next - 1, offset))
        self._next = offset + 1


def _log_title(source: DumpSource) -> str:
    if source.kind is FileKind.LOG:
        return f"Log starting offset: {source.base_offset}\n"
    if source.name == BOOTSTRAP:
        return "KRaft bootstrap snapshot\n"
    snapshot = source.snapshot_id
    return f"Snapshot end offset: {snapshot.end_offset}, epoch: {snapshot.epoch}\n"


def _log_of(source: DumpSource) -> IndexedLog:
    log = source.beside(".log")
    return IndexedLog(log.view(), file=log.path, base_offset=source.base_offset)


def _transactions(source: DumpSource) -> Iterator[str | Message]:
    for entry in aborted_transactions(source):
        if isinstance(entry, Problem):
            yield Message(str(entry), is_failure=True)
        else:
            # The tool prints the upper byte of the version.
            yield (
                f"version: 0 producerId: {entry.producer_id} firstOffset: {entry.first_offset} "
                f"lastOffset: {entry.last_offset} lastStableOffset: {entry.last_stable_offset}\n"
            )
