"""Files as one JSON document, written piece by piece: at most one batch of records is in memory.

{"release", "files": [{"file", "kind", ..., "problems": [{"file", "position", "baseOffset", "message"}]}]}; by kind a
file has `startOffset`, or `endOffset` and `epoch`, and `batches` (log, snapshot); `baseOffset` and `entries`
(offset-index, time-index); `producers` (producer-snapshot); `abortedTransactions` (transaction-index).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from falkirk.dump.dump_source import BOOTSTRAP, FileKind
from falkirk.dump.finding import Problem
from falkirk.dump.log_document import batch_document, record_documents
from falkirk.dump.log_reader import LogReader, is_valid_batch
from falkirk.dump.small_file_document import small_file_document
from falkirk.dump.text_dump import crc_problem
from falkirk.storage.errors import CorruptFileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from falkirk.dump.dump_source import DumpSource
    from falkirk.dump.options import DumpOptions
    from falkirk.dump.tool import DumpTool
    from falkirk.protocol.record_batch import RecordBatch

Fields = dict[str, object]
_encode = msgspec.json.encode


class DocumentDump:
    """Dumps files one after the other; a damaged file does not prevent the next from being dumped."""

    def __init__(self, tool: DumpTool, options: DumpOptions) -> None:
        self._tool = tool
        self._options = options
        self.is_failure = False
        """A file so far was damaged, or could not be read."""

    def dump(self, sources: Iterable[DumpSource]) -> Iterator[bytes]:
        """Yield the document in pieces."""
        yield b'{"release":' + _encode(self._tool.release.name) + b',"files":['
        comma = b""
        for source in sources:
            yield comma + b"\n"
            yield from self._file(source)
            comma = b","
        yield b"\n]}\n"

    def _file(self, source: DumpSource) -> Iterator[bytes]:
        problems: list[Problem] = []
        yield _encode({"file": source.path, "kind": source.kind.value})[:-1]
        try:
            match source.kind:
                case FileKind.LOG | FileKind.SNAPSHOT:
                    yield from self._log(source, problems)
                case FileKind.UNKNOWN:
                    message = "file is of no kind that can be dumped"
                    problems.append(Problem(file=source.path, position=0, message=message, is_corrupt=False))
                case _:
                    yield _more(small_file_document(source, self._options, problems))
        except CorruptFileError as error:
            problems.append(Problem(file=error.file, position=error.offset, message=error.reason))
        except OSError as os_error:
            problems.append(Problem(file=source.path, position=0, message=os_error.strerror or str(os_error)))
        yield _more({"problems": [_problem(problem) for problem in problems]}) + b"}"
        self.is_failure |= any(problem.is_corrupt for problem in problems)

    def _log(self, source: DumpSource, problems: list[Problem]) -> Iterator[bytes]:
        """Yield the batches one by one. Raises CorruptFileError after a whole JSON array."""
        yield _more(_title(source))
        reader = LogReader(source.view(), file=source.path, bytes_max=self._options.bytes_max)
        yield b',"batches":['
        comma = b""
        try:
            for batch in reader:
                is_valid = is_valid_batch(batch)
                if not is_valid:
                    problems.append(crc_problem(source, batch.position, batch.base_offset))
                document = batch_document(batch, source.path, is_valid=is_valid)
                error = self._add_records(document, batch, source.path)
                # A batch is shown with the records before the one that does not parse.
                yield comma + b"\n" + _encode(document)
                comma = b","
                if error is not None:
                    raise error
        except CorruptFileError:
            yield b"]"
            raise
        yield b"]"
        torn = reader.torn()
        if torn is not None and self._options.bytes_max is None:
            problems.append(Problem(file=source.path, position=reader.position, message=torn, is_corrupt=False))

    def _add_records(self, document: Fields, batch: RecordBatch, file: str) -> CorruptFileError | None:
        """Add the records if they are wanted; return the error that ended them early."""
        if not self._options.is_deep:
            return None
        records: list[Fields] = []
        document["records"] = records
        try:
            for record in record_documents(batch, file, self._options):
                records.append(record)  # noqa: PERF402  those before an error are kept
        except CorruptFileError as error:
            return error
        return None


def _more(fields: Fields) -> bytes:
    """Encode fields for appending to those of the same object."""
    return b"," + _encode(fields)[1:-1] if fields else b""


def _title(source: DumpSource) -> Fields:
    if source.kind is FileKind.LOG:
        return {"startOffset": source.base_offset}
    if source.name == BOOTSTRAP:
        return {}
    snapshot = source.snapshot_id
    return {"endOffset": snapshot.end_offset, "epoch": snapshot.epoch}


def _problem(problem: Problem) -> Fields:
    return {
        "file": problem.file,
        "position": problem.position,
        "baseOffset": problem.base_offset,
        "message": problem.message,
    }
