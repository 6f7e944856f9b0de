"""Survey a cluster in a worker: choose its metadata log, make its state, and list what is not in the tables yet."""

from __future__ import annotations

import socket
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from falkirk.pipeline.filesystem import readable_bytes
from falkirk.pipeline.ingest.file_growth import fingerprint
from falkirk.pipeline.ingest.new_bytes import SourceFile, new_bytes
from falkirk.pipeline.ingest.unit import MADE_BY, Unit, UnitKind
from falkirk.pipeline.readers.coordinator_segments import segments_of
from falkirk.pipeline.readers.lines import last_line_end
from falkirk.pipeline.readers.origin import Origin
from falkirk.pipeline.readers.problem_rows import UNREADABLE, problem_row, unreadable_row
from falkirk.pipeline.readers.splits import split_batches, split_lines
from falkirk.pipeline.readers.watch_journal import WatchJournalError, reading_journal
from falkirk.pipeline.state.groups.group_state import coordinator_replicas
from falkirk.pipeline.state.metadata.log_dir_rows import log_dir_row
from falkirk.pipeline.state.metadata_state import STATE_TABLES, metadata_state
from falkirk.pipeline.tables.clusters import LOG_DIRS, PROBLEMS
from falkirk.pipeline.tables.groups import COMMITTED_OFFSETS, GROUP_MEMBERS, GROUP_RECORDS, GROUPS, TRANSACTIONS
from falkirk.pipeline.tables.trends import TRENDS
from falkirk.pipeline.tables.watch import WATCH_EVENTS, WATCH_WAYS
from falkirk.pipeline.warehouse.data_files import DataFileWriter
from falkirk.pipeline.warehouse.manifest import Manifest, Piece
from falkirk.pipeline.warehouse.warehouse import Warehouse
from falkirk.storage.bootstrap_checkpoint import FILE_NAME as BOOTSTRAP_CHECKPOINT
from falkirk.storage.partition_directory import GROUPS_TOPIC, METADATA_DIRECTORY, TRANSACTIONS_TOPIC

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from falkirk.pipeline.filesystem import Location
    from falkirk.pipeline.fleet import FleetCluster, FleetNode, RequestLog

GROUP_STATE_TABLES: Final = frozenset({GROUPS.name, GROUP_MEMBERS.name, COMMITTED_OFFSETS.name})
# Data directories are a piece of their own, and problems are always recorded.
_METADATA_TABLES: Final = STATE_TABLES - {LOG_DIRS.name, PROBLEMS.name}
_TABLES_OF: Final = {UnitKind.GROUP_STATE: GROUP_STATE_TABLES, UnitKind.TRANSACTIONS: frozenset({TRANSACTIONS.name})}
_WATCH_TABLES: Final = frozenset({WATCH_EVENTS.name, WATCH_WAYS.name})
_WATCH_ROWS: Final = 5000
_METADATA_FILES: Final = (".log", ".checkpoint", "quorum-state")


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """Warehouse URI, wanted tables, the bytes of one unit, and whether tables have secrets.

    `rebuild`: whatever is in the wanted tables is made anew. `at_ms` is the time of the ingest.
    """

    warehouse: str
    tables: frozenset[str]
    split_bytes: int
    keep_secrets: bool = False
    rebuild: bool = False
    at_ms: int | None = None


@dataclass(slots=True, kw_only=True)
class ClusterSurvey:
    """Result of the survey: `pieces` stay or were just made; `units` is the work that is left."""

    cluster: str
    cluster_id: str | None
    before: Manifest | None
    pieces: list[Piece] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    # Data directories that this worker does not see, and its machine.
    unseen: tuple[str, ...] = ()
    host: str = ""


def survey_cluster(
    cluster: FleetCluster,
    problems: Sequence[dict[str, Any]],  # Any: values of columns
    options: IngestOptions,
) -> ClusterSurvey:
    """Survey a cluster; `problems` are rows for its directories that could not be read."""
    return _Surveyor(cluster, options).survey(problems)


class _Surveyor:
    def __init__(self, cluster: FleetCluster, options: IngestOptions) -> None:
        self._cluster = cluster
        self._options = options
        self._warehouse = Warehouse(options.warehouse)
        before = self._warehouse.manifest(cluster.name)
        self._before: dict[str, Piece] = {} if before is None else before.pieces
        # Key of a piece that stays -> the unit that would make it anew.
        self._again: dict[str, Unit] = {}
        # Rows of the table `problems`.
        self._unreadable: list[dict[str, Any]] = []  # Any: values of columns
        log_dirs = [log_dir.location for node in cluster.nodes for log_dir in node.log_dirs]
        self._found = ClusterSurvey(
            cluster=cluster.name,
            cluster_id=cluster.cluster_id,
            before=before,
            unseen=tuple(place.uri for place in log_dirs if "://" not in place.uri and not Path(place.path).is_dir()),
            host=socket.gethostname(),
        )

    def survey(self, problems: Sequence[dict[str, Any]]) -> ClusterSurvey:  # Any: same
        unreadable = self._unreadable
        unreadable += problems
        for part in (self._log_dirs, self._metadata_and_records, self._coordinators, self._requests, self._watch):
            try:
                part()
            except OSError as error:
                unreadable.append(problem_row(Origin(source=str(error.filename or "")), UNREADABLE, str(error)))
        self._rows("unreadable", PROBLEMS.name, unreadable)
        self._replace_sharing()
        return self._found

    def _replace_sharing(self) -> None:
        """Make pieces anew that share a data file with one that does not stay."""
        before = Counter(file.path for piece in self._before.values() for file in piece.files)
        while True:
            kept = Counter(file.path for piece in self._found.pieces for file in piece.files)
            going = {path for path, count in before.items() if 0 < kept[path] < count}
            sharing = {piece.key for piece in self._found.pieces if any(file.path in going for file in piece.files)}
            if not sharing:
                return
            self._found.pieces = [piece for piece in self._found.pieces if piece.key not in sharing]
            self._found.units += [self._again[key] for key in sorted(sharing)]

    def _rows(self, key: str, table: str, rows: Sequence[dict[str, Any]]) -> None:  # Any: same
        """Make a piece of a few rows; it stays if the rows are the same as before."""
        made_of = fingerprint([], *rows)
        if self._stays(key, made_of) or not rows:
            return
        with self._writer() as writer:
            writer.write_rows(table, rows)
            piece = Piece(key=key, kind=key, source="", fingerprint=made_of, made_by=MADE_BY, files=writer.close())
        self._found.pieces.append(piece)

    def _writer(self) -> DataFileWriter:
        return DataFileWriter(self._warehouse, self._cluster.name, keep_secrets=self._options.keep_secrets)

    def _stays(self, key: str, made_of: str) -> bool:
        piece = self._before.get(key)
        if piece is None or piece.fingerprint != made_of or not self._is_current(piece):
            return False
        self._found.pieces.append(piece)
        return True

    def _is_current(self, piece: Piece) -> bool:
        return piece.made_by == MADE_BY and not self._options.rebuild

    def _log_dirs(self) -> None:
        key = "log_dirs"
        if LOG_DIRS.name in self._options.tables:
            rows = [log_dir_row(log_dir, node.node_id) for node in self._cluster.nodes for log_dir in node.log_dirs]
            self._rows(key, LOG_DIRS.name, rows)
        elif key in self._before:
            self._found.pieces.append(self._before[key])

    def _metadata_and_records(self) -> None:
        if self._cluster.nodes:
            self._records(UnitKind.METADATA_RECORDS, list(self._metadata_files(self._metadata())))

    def _metadata(self) -> Piece:
        key = "metadata"
        wanted = self._state_tables(key, _METADATA_TABLES)
        facts = (wanted, self._cluster.as_of, self._cluster.tags, [_properties(node) for node in self._cluster.nodes])
        made_of = fingerprint(_metadata_locations(self._cluster), *facts)
        if self._stays(key, made_of):
            return self._before[key]
        state = metadata_state(
            self._cluster, tables=frozenset(wanted) | {PROBLEMS.name}, ingested_at_ms=self._options.at_ms
        )
        with self._writer() as writer:
            if TRENDS.name in state.tables:
                writer.write(TRENDS.name, self._earlier_days(state.tables[TRENDS.name]))
            for table, batches in state.tables.items():
                for rows in batches:
                    writer.write(table, rows)
            piece = Piece(
                key=key,
                kind=key,
                source="" if state.snapshot is None else state.snapshot.uri,
                fingerprint=made_of,
                made_by=MADE_BY,
                tables=wanted,
                chosen_node=state.chosen_node,
                files=writer.close(),
            )
        self._found.pieces.append(piece)
        return piece

    def _earlier_days(self, found: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
        """Return the trend of other days than are found: no file of the cluster has them any longer."""
        days = {day for rows in found for day in rows.column("day").to_pylist()}
        before = self._before["metadata"].files if "metadata" in self._before else ()
        rows = [row for file in before if file.table == TRENDS.name for row in self._warehouse.rows(file)]
        return TRENDS.rows([row for row in rows if row["day"] not in days])

    def _state_tables(self, key: str, possible: frozenset[str]) -> tuple[str, ...]:
        """Return the tables to make of a state: the wanted ones and those already there, so that all agree."""
        there = self._before[key].tables if key in self._before else ()
        return tuple(sorted(possible & (self._options.tables | set(there))))

    def _metadata_files(self, metadata: Piece) -> Iterator[SourceFile]:
        """Yield the snapshot and the segments of the chosen log."""
        for node in self._cluster.nodes:
            if node.node_id != metadata.chosen_node or node.metadata_dir is None:
                continue
            directory = node.metadata_dir.location / METADATA_DIRECTORY
            snapshots = [directory / metadata.source.rpartition("/")[2]] if metadata.source else []
            for location in (*snapshots, *segments_of(directory)):
                yield SourceFile(
                    kind=UnitKind.METADATA_RECORDS,
                    cluster=self._cluster.name,
                    location=location,
                    node_id=node.node_id,
                    is_snapshot=location in snapshots,
                )

    def _coordinators(self) -> None:
        tables = self._options.tables
        wants_groups = bool(tables & (GROUP_STATE_TABLES | {GROUP_RECORDS.name}))
        if not wants_groups:
            self._keep(UnitKind.GROUP_STATE)
        group_files: list[SourceFile] = []
        for partition, (directory, node_id) in coordinator_replicas(self._cluster, GROUPS_TOPIC).items():
            if wants_groups:
                self._state(UnitKind.GROUP_STATE, directory, partition, node_id)
            group_files += [
                SourceFile(
                    kind=UnitKind.GROUP_RECORDS,
                    cluster=self._cluster.name,
                    location=location,
                    node_id=node_id,
                    partition=partition,
                )
                for location in segments_of(directory)
            ]
        self._records(UnitKind.GROUP_RECORDS, group_files)
        if TRANSACTIONS.name in tables:
            for partition, (directory, node_id) in coordinator_replicas(self._cluster, TRANSACTIONS_TOPIC).items():
                self._state(UnitKind.TRANSACTIONS, directory, partition, node_id)
        else:
            self._keep(UnitKind.TRANSACTIONS)

    def _keep(self, kind: str) -> None:
        """Keep the pieces of tables that are not wanted."""
        self._found.pieces += [piece for piece in self._before.values() if piece.kind == kind]

    def _state(self, kind: UnitKind, directory: Location, partition: int, node_id: int) -> None:
        segments = segments_of(directory)
        unit = Unit(
            kind=kind,
            cluster=self._cluster.name,
            location=directory,
            node_id=node_id,
            partition=partition,
            end=sum(readable_bytes(location) for location in segments),
        )
        tables = self._state_tables(unit.key, _TABLES_OF[kind])
        unit = replace(unit, tables=tables, fingerprint=fingerprint(segments, tables))
        if self._stays(unit.key, unit.fingerprint):
            self._again[unit.key] = unit
        else:
            self._found.units.append(unit)

    def _requests(self) -> None:
        self._records(
            UnitKind.REQUESTS,
            [
                SourceFile(
                    kind=UnitKind.REQUESTS, cluster=self._cluster.name, location=log.location, node_id=log.node_id
                )
                for log in self._cluster.request_logs
            ],
        )
        tails = [row for log in self._cluster.request_logs for row in _unfinished_line(log)]
        self._rows("request_tails", PROBLEMS.name, tails)

    def _watch(self) -> None:
        """Make the tables of a watch's journal anew if it has changed; one that cannot be read leaves them."""
        key, location = "watch", self._cluster.watch_journal
        if not self._options.tables & _WATCH_TABLES:
            self._keep(key)
            return
        if location is None:
            return
        try:
            self._watch_tables(key, location)
        except WatchJournalError as error:
            self._keep(key)
            self._unreadable.append(unreadable_row(Origin(source=location.uri), str(error)))

    def _watch_tables(self, key: str, location: Location) -> None:
        tables = self._state_tables(key, _WATCH_TABLES)
        with reading_journal(location.path, self._cluster.name) as journal:
            cluster_id = journal.cluster_id()
            if self._cluster.cluster_id not in {None, cluster_id}:
                detail = f"the watch follows cluster {cluster_id}, the directories are of {self._cluster.cluster_id}"
                self._unreadable.append(problem_row(Origin(source=location.uri), "other cluster id", detail))
            made_of = fingerprint([], location.uri, tables, *journal.extent())
            if self._stays(key, made_of):
                return
            rows = {WATCH_EVENTS.name: journal.events, WATCH_WAYS.name: journal.ways}
            with self._writer() as writer:
                for table in tables:
                    left = rows[table]()
                    while some := list(islice(left, _WATCH_ROWS)):
                        writer.write_rows(table, some)
                piece = Piece(
                    key=key,
                    kind=key,
                    source=location.uri,
                    fingerprint=made_of,
                    made_by=MADE_BY,
                    tables=tables,
                    files=writer.close(),
                )
        self._found.pieces.append(piece)

    def _records(self, kind: UnitKind, files: list[SourceFile]) -> None:
        """Find the new bytes of one kind; a table that is not wanted stays as it is."""
        if kind not in self._options.tables:
            self._keep(kind)
            return
        pieces = [piece for piece in self._before.values() if piece.kind == kind]
        cut = split_lines if kind is UnitKind.REQUESTS else split_batches
        current = [piece for piece in pieces if self._is_current(piece)]
        found = new_bytes(
            files, current, lambda location, start, end: cut(location, start, end, self._options.split_bytes)
        )
        if kind is UnitKind.REQUESTS:  # what the states are made of is reported there
            self._unreadable += [
                unreadable_row(Origin(source=file.location.uri, node_id=file.node_id), str(error))
                for file, error in found.unreadable
            ]
        self._found.pieces += found.kept
        self._found.units += found.units
        by_source = {file.location.uri: file for file in files}
        for piece in found.kept:
            self._again[piece.key] = by_source[piece.source].unit(piece.start, piece.end)


def _metadata_locations(cluster: FleetCluster) -> list[Location]:
    """Return the files that the metadata state is made of."""
    found: list[Location] = []
    for node in cluster.nodes:
        for log_dir in node.log_dirs:
            checkpoint = log_dir.location / BOOTSTRAP_CHECKPOINT
            if checkpoint.disk.exists(checkpoint.path):
                found.append(checkpoint)
        if node.metadata_dir is not None:
            directory = node.metadata_dir.location / METADATA_DIRECTORY
            names = directory.disk.list(directory.path)
            found += [directory / name for name in names if name.endswith(_METADATA_FILES)]
    return found


def _unfinished_line(log: RequestLog) -> Iterator[dict[str, Any]]:  # Any: values of columns
    """Yield a problem for a last line without its newline; it is read once it is complete."""
    disk, path = log.location.disk, log.location.path
    try:
        size = disk.size(path)
        end = last_line_end(disk, path, 0, size)
    except OSError:
        return  # reported where its lines are read
    if end < size:
        detail = f"the last {size - end} bytes are a line without its end: it counts once it is written"
        origin = Origin(source=log.location.uri, node_id=log.node_id)
        yield problem_row(origin, "torn tail", detail, position=end)


def _properties(node: FleetNode) -> str:
    return "" if node.server_properties is None else repr(sorted(node.server_properties.as_dict().items()))
