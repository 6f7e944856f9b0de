"""Run units of an ingest in a worker: read bytes, write data files, one for each table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.columnar.report import ReadReport
from falkirk.pipeline.ingest.file_growth import NOT_WHOLE, end_crc
from falkirk.pipeline.ingest.new_bytes import head_fingerprint
from falkirk.pipeline.ingest.unit import MADE_BY, STATES, Unit, UnitKind
from falkirk.pipeline.readers.chunks import CutShortError, iter_chunks, until_end
from falkirk.pipeline.readers.coordinator_segments import CHUNK_BYTES
from falkirk.pipeline.readers.group_records import read_group_records
from falkirk.pipeline.readers.lines import iter_line_chunks
from falkirk.pipeline.readers.metadata_records import read_metadata_records
from falkirk.pipeline.readers.origin import Origin
from falkirk.pipeline.readers.problem_rows import unreadable_row
from falkirk.pipeline.readers.requests import RequestReport, read_requests
from falkirk.pipeline.state.groups.group_state import group_state
from falkirk.pipeline.state.transactions import transaction_state
from falkirk.pipeline.tables.clusters import PROBLEMS
from falkirk.pipeline.tables.groups import TRANSACTIONS
from falkirk.pipeline.tables.requests import REQUESTS
from falkirk.pipeline.warehouse.data_files import DataFileWriter
from falkirk.pipeline.warehouse.manifest import Piece
from falkirk.pipeline.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.pipeline.ingest.survey import IngestOptions
    from falkirk.pipeline.warehouse.manifest import DataFile


def run_units(units: Sequence[Unit], options: IngestOptions) -> list[tuple[str, Piece]]:
    """Make the pieces of units of one cluster, which share their data files; returns (cluster name, piece) of each.

    Data files count once they are committed. What cannot be read becomes rows of `problems`. Units of ranges of a log
    write no problems, because the unit of the state reads the same files and does. A file that was cut, or could not be
    read to the unit's end, is read again by the next ingest.
    """
    warehouse, [cluster] = Warehouse(options.warehouse), {unit.cluster for unit in units}
    with DataFileWriter(warehouse, cluster, keep_secrets=options.keep_secrets) as writer:
        crcs = [_run_unit(unit, writer) for unit in units]
        files = writer.close()
    return [(cluster, _piece(unit, crc, files)) for unit, crc in zip(units, crcs, strict=True)]


def _run_unit(unit: Unit, writer: DataFileWriter) -> int:
    """Write the rows of a unit; return the CRC of its end."""
    try:
        _WORK[unit.kind](unit, writer)
        return 0 if unit.kind in STATES else end_crc(unit.location, unit.end)
    except CutShortError:
        pass  # the unit of the state, or the next ingest, tells what became of the file
    except OSError as error:
        origin = Origin(source=unit.location.uri, node_id=unit.node_id)
        writer.write_rows(PROBLEMS.name, [unreadable_row(origin, f"{unit.location.uri}: {error}")])
    return NOT_WHOLE


def _piece(unit: Unit, crc: int, files: tuple[DataFile, ...]) -> Piece:
    fingerprint = unit.fingerprint
    if unit.kind is UnitKind.REQUESTS and unit.start == 0:
        fingerprint = head_fingerprint(unit.location, unit.end)
    return Piece(
        key=unit.key,
        kind=unit.kind,
        source=unit.location.uri,
        fingerprint=fingerprint,
        made_by=MADE_BY,
        start=unit.start,
        end=unit.end,
        end_crc=crc,
        files=files,
        tables=unit.tables,
    )


def _records(unit: Unit, writer: DataFileWriter) -> None:
    """Write the records of a range of a log."""
    report = ReadReport()
    read = read_metadata_records if unit.kind is UnitKind.METADATA_RECORDS else read_group_records
    disk, path = unit.location.disk, unit.location.path
    chunks = iter_chunks(disk, path, report, start=unit.start, end=unit.end, chunk_bytes=CHUNK_BYTES)
    for rows in read(until_end(chunks, unit.end), Origin(source=unit.location.uri, node_id=unit.node_id), report):
        writer.write(unit.kind, rows)


def _requests(unit: Unit, writer: DataFileWriter) -> None:
    """Write the requests of a range of lines, and problems with lines."""
    report = RequestReport()
    origin = Origin(source=unit.location.uri, node_id=unit.node_id)
    chunks = iter_line_chunks(unit.location.disk, unit.location.path, start=unit.start, end=unit.end)
    for rows in read_requests(until_end(chunks, unit.end), origin, report):
        writer.write(REQUESTS.name, rows)
    writer.write_rows(PROBLEMS.name, report.problem_rows(origin))


def _group_state(unit: Unit, writer: DataFileWriter) -> None:
    """Write the state of a partition's groups at its end."""
    tables, problems = group_state(unit.location, unit.partition, unit.node_id)
    for table, found in tables.items():
        if table in unit.tables:
            for rows in found.to_batches():
                writer.write(table, rows)
    writer.write_rows(PROBLEMS.name, problems)


def _transactions(unit: Unit, writer: DataFileWriter) -> None:
    """Write the state of a partition's transactional ids at its end."""
    found, problems = transaction_state(unit.location, unit.partition, unit.node_id)
    for rows in found.to_batches():
        writer.write(TRANSACTIONS.name, rows)
    writer.write_rows(PROBLEMS.name, problems)


_WORK: Final[dict[UnitKind, Callable[[Unit, DataFileWriter], None]]] = {
    UnitKind.METADATA_RECORDS: _records,
    UnitKind.GROUP_RECORDS: _records,
    UnitKind.GROUP_STATE: _group_state,
    UnitKind.TRANSACTIONS: _transactions,
    UnitKind.REQUESTS: _requests,
}
