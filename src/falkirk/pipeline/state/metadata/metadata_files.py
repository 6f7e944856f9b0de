"""Read the files of the chosen log: a snapshot, and the log up to its end or the wanted offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.pipeline.errors import InventoryError
from falkirk.pipeline.readers.origin import Origin
from falkirk.pipeline.readers.problem_rows import unreadable_row
from falkirk.pipeline.state.metadata.feature_level_rows import SnapshotFacts
from falkirk.pipeline.state.metadata.metadata_reader import NO_LIMIT, MetadataReader, ReadLimits
from falkirk.protocol.messages import (
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from falkirk.storage.bootstrap_checkpoint import FILE_NAME as BOOTSTRAP_CHECKPOINT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.pipeline.filesystem import Location
    from falkirk.pipeline.fleet import FleetCluster
    from falkirk.pipeline.state.metadata.batch_chain import BatchChain
    from falkirk.pipeline.state.metadata.metadata_log_survey import SurveyedLog
    from falkirk.pipeline.state.metadata.metadata_quorum import ChosenLog
    from falkirk.pipeline.state.metadata.metadata_reader import ReadFile
    from falkirk.pipeline.state.metadata.metadata_rows import MetadataRows
    from falkirk.storage.snapshot_file import SnapshotId

    Row = dict[str, Any]  # Any: values of columns

_TORN: Final = "torn tail"
_DAMAGE: Final = frozenset({"corrupt batch", _TORN, "gap", "unreadable file"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMetadata:
    """The records read, and how far. `snapshot` is its file, None if there was none.

    `problems` are rows of their table. `is_complete`: the log was read to its end, without damaged or unknown records.
    """

    rows: MetadataRows
    problems: list[Row]
    is_complete: bool
    files: tuple[ReadFile, ...]
    snapshot: Location | None
    facts: SnapshotFacts | None
    # The log is complete from its first record.
    begins_at_0: bool
    kraft_version: int
    # As in the log; None: kraft.version 0, or no record of them.
    voters: VotersRecord | None
    end_offset: int
    epoch: int | None
    last_timestamp: int | None


def read_metadata(cluster: FleetCluster, chosen: ChosenLog, bulk: frozenset[str]) -> ReadMetadata:
    """Read the chosen log, as of the offset that the cluster names, else to its end.

    Raises InventoryError if no file reaches back that far, or the log ends before.
    """
    log = chosen.log
    end_offset = 0 if log is None else log.end_offset
    if cluster.as_of is not None and cluster.as_of > end_offset:
        raise InventoryError(
            f"cluster {cluster.name}: as_of is {cluster.as_of}, and the metadata log ends at offset {end_offset}"
        )
    if log is None or log.never_ran:
        return _read_bootstrap(cluster, chosen, bulk)
    return _LogReader(cluster, chosen, log, bulk).read()


def _read_bootstrap(cluster: FleetCluster, chosen: ChosenLog, bulk: frozenset[str]) -> ReadMetadata:
    """Read what formatting wrote for a cluster that never ran: bootstrap.checkpoint, or from 4.4 on a snapshot."""
    reader = MetadataReader(chosen.node_id, bulk)
    first = next(_bootstrap_files(cluster), None)
    if first is not None:
        reader.read_snapshot(first, data_from_0=True)
    snapshot, log = None, chosen.log
    timestamp = None
    if log is not None and log.snapshots:
        snapshot = log.snapshot(log.snapshots[0])
        reader.read_snapshot(snapshot)
        timestamp = _header_timestamp(reader)
    if log is not None:
        # Nothing in them is valid, but it is to be reported.
        reader.read_segments([log.segment(base) for base in log.segments], ReadLimits())
    return ReadMetadata(
        rows=reader.rows(),
        problems=reader.problems,
        is_complete=all(problem["kind"] == _TORN for problem in reader.problems),
        files=tuple(reader.files),
        snapshot=snapshot,
        facts=SnapshotFacts(frozenset(range(2)), 0, timestamp),
        begins_at_0=False,
        kraft_version=_kraft_version(reader),
        voters=_voters(reader),
        end_offset=0,
        epoch=None,
        last_timestamp=None,
    )


def _bootstrap_files(cluster: FleetCluster) -> Iterator[Location]:
    for node in cluster.nodes:
        for log_dir in node.log_dirs:
            file = log_dir.location / BOOTSTRAP_CHECKPOINT
            if file.disk.exists(file.path):
                yield file


class _LogReader:
    def __init__(self, cluster: FleetCluster, chosen: ChosenLog, log: SurveyedLog, bulk: frozenset[str]) -> None:
        self._cluster = cluster
        self._node_id = chosen.node_id
        self._log = log
        self._bulk = bulk
        self._end = NO_LIMIT if cluster.as_of is None else cluster.as_of
        self._problems: list[Row] = []

    def read(self) -> ReadMetadata:
        """Read the snapshot, then the log."""
        snapshot_id, reader = self._snapshot()
        start, facts = 0, None
        if snapshot_id is not None:
            start = snapshot_id.end_offset
            facts = SnapshotFacts(frozenset({0}), snapshot_id.epoch, _header_timestamp(reader))
        segments = [self._log.segment(base) for base in self._log.segments if base < self._end]
        reader.read_segments(segments, ReadLimits(start=start, end=self._end))
        chain = reader.chain
        goes_on = chain.end_offset > start
        first = next(iter(self._log.segments), 0) if chain.first_offset is None else chain.first_offset
        reader.problems += self._emptied(reader)
        harmful = [problem for problem in reader.problems if not _is_harmless(problem, reader, segments, start)]
        missing = self._missing(chain, segments, start, first)
        return ReadMetadata(
            is_complete=(snapshot_id is not None or bool(self._log.segments)) and not harmful and not missing,
            problems=self._problems + reader.problems + missing,
            files=tuple(reader.files),
            snapshot=None if snapshot_id is None else self._log.snapshot(snapshot_id),
            facts=facts,
            begins_at_0=chain.first_offset == 0,
            kraft_version=_kraft_version(reader),
            voters=_voters(reader),
            end_offset=min(chain.end_offset, self._end) if goes_on else start,
            epoch=chain.epoch if goes_on or snapshot_id is None else snapshot_id.epoch,
            last_timestamp=_last_timestamp(chain, facts),
            rows=reader.rows(),
        )

    def _snapshot(self) -> tuple[SnapshotId | None, MetadataReader]:
        """Read the newest valid snapshot that the log continues; None if the log begins at offset 0."""
        found: list[tuple[SnapshotId, MetadataReader]] = []
        for snapshot_id in self._log.snapshots:
            if snapshot_id.end_offset <= self._end and self._goes_on_from(snapshot_id):
                reader = self._reader()
                reader.read_snapshot(self._log.snapshot(snapshot_id))
                if _is_sound(reader):
                    self._problems += [problem for _, unsound in found for problem in unsound.problems]
                    return snapshot_id, reader
                if not any(problem["kind"] in _DAMAGE for problem in reader.problems):
                    reader.problems.append(self._no_snapshot(snapshot_id))
                found.append((snapshot_id, reader))
        if self._log.segments[:1] == (0,):
            self._problems += [problem for _, unsound in found for problem in unsound.problems]
            return None, self._reader()
        if self._end != NO_LIMIT:
            raise InventoryError(
                f"cluster {self._cluster.name}: as_of is {self._cluster.as_of}, and no sound snapshot and log of node "
                f"{self._node_id} reach from there back to the beginning"
            )
        return self._best(found)

    def _best(self, unsound: list[tuple[SnapshotId, MetadataReader]]) -> tuple[SnapshotId | None, MetadataReader]:
        """Fall back to a damaged snapshot, to one with records missing behind it, or to none."""
        if unsound:
            self._problems += [problem for _, reader in unsound[1:] for problem in reader.problems]
            return unsound[0]
        reader = self._reader()
        if not self._log.snapshots:
            return None, reader
        reader.read_snapshot(self._log.snapshot(self._log.snapshots[0]))
        return self._log.snapshots[0], reader

    def _goes_on_from(self, snapshot_id: SnapshotId) -> bool:
        segments = self._log.segments
        return not segments or segments[0] <= snapshot_id.end_offset or snapshot_id.end_offset == self._end

    def _reader(self) -> MetadataReader:
        return MetadataReader(self._node_id, self._bulk)

    def _no_snapshot(self, snapshot_id: SnapshotId) -> Row:
        origin = Origin(source=self._log.snapshot(snapshot_id).uri, node_id=self._node_id)
        return unreadable_row(origin, "snapshot does not begin with a header, or has more than one footer")

    def _emptied(self, reader: MetadataReader) -> Iterator[Row]:
        """Yield segments without a byte that others follow: somebody has emptied them."""
        bases = {self._log.segment(base).uri: base for base in self._log.segments[:-1]}
        unreadable = {problem["source"] for problem in reader.problems}
        for file in reader.files:
            base = bases.get(file.location.uri)
            if base is not None and file.end == 0 and file.location.uri not in unreadable:
                yield self._gap(file.location, base, "the segment is empty, and another follows")

    def _missing(self, chain: BatchChain, segments: list[Location], start: int, first: int) -> list[Row]:
        """Return a row if records are missing between snapshot and log, or the log ends before its snapshot does."""
        if not segments or self._end <= start:
            return []
        last = self._log.segments[len(segments) - 1]
        if first > start:
            held = f"the newest snapshot ends at offset {start}" if start else "there is no snapshot"
            detail = f"the log begins at offset {first}, and nothing holds what is before it: {held}"
            return [self._gap(segments[0], first, detail)]
        # A node that loaded a snapshot begins a segment at its end.
        if chain.end_offset < start and last != start:
            held = "has no batch" if chain.first_offset is None else f"ends at offset {chain.end_offset}"
            detail = f"the log {held}, the newest snapshot ends at {start}: what was written behind that is missing"
            return [self._gap(segments[-1], chain.end_offset, detail)]
        return []

    def _gap(self, segment: Location, offset: int, detail: str) -> Row:
        return {
            "node_id": self._node_id,
            "source": segment.uri,
            "kind": "gap",
            "position": None,
            "offset": offset,
            "count": 1,
            "detail": detail,
        }


def _is_harmless(problem: Row, reader: MetadataReader, segments: list[Location], start: int) -> bool:
    """Return whether a problem is the torn tail of the log, or lies in a part of it that the snapshot contains.

    The snapshot ends at offset `start`. What the batches from there on say is sound; it does not matter what is before
    the first of them.
    """
    if problem["kind"] == _TORN and segments and problem["source"] == segments[-1].uri:
        return True
    if reader.begins_at is None or problem["source"] not in {segment.uri for segment in segments}:
        return False
    uris = [file.location.uri for file in reader.files]
    place = uris.index(problem["source"]), problem["position"] or 0
    if problem["kind"] == "gap" and problem["position"] is not None:
        return place <= reader.begins_at and problem["offset"] <= start  # the place is that of the batch behind the gap
    return place < reader.begins_at


def _is_sound(reader: MetadataReader) -> bool:
    """Return whether a snapshot is whole: no damage, a header at its start and one footer, at its end."""
    if any(problem["kind"] in _DAMAGE for problem in reader.problems):
        return False
    headers = [each.offset for each in reader.controls if isinstance(each.message, SnapshotHeaderRecord)]
    footers = [each.offset for each in reader.controls if isinstance(each.message, SnapshotFooterRecord)]
    return headers[:1] == [0] and footers == [reader.chain.end_offset - 1]


def _header_timestamp(reader: MetadataReader) -> int | None:
    headers = [each.message for each in reader.controls if isinstance(each.message, SnapshotHeaderRecord)]
    return headers[-1].last_contained_log_timestamp if headers else None


def _kraft_version(reader: MetadataReader) -> int:
    """Return the last kraft.version in snapshot and log."""
    records = [each.message for each in reader.controls if not each.is_earlier]
    return next((each.kraft_version for each in reversed(records) if isinstance(each, KRaftVersionRecord)), 0)


def _voters(reader: MetadataReader) -> VotersRecord | None:
    records = [each.message for each in reader.controls if not each.is_earlier]
    return next((each for each in reversed(records) if isinstance(each, VotersRecord)), None)


def _last_timestamp(chain: BatchChain, facts: SnapshotFacts | None) -> int | None:
    if chain.last_timestamp is not None or facts is None:
        return chain.last_timestamp
    return facts.timestamp
