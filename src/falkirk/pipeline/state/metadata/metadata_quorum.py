"""Choose the metadata log of a fleet's cluster: the best that is there, even of a minority."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from falkirk.columnar.batch_table import iter_batch_tables
from falkirk.columnar.report import ReadReport
from falkirk.pipeline.readers.chunks import iter_chunks
from falkirk.pipeline.readers.origin import Origin
from falkirk.pipeline.readers.problem_rows import unreadable_row
from falkirk.pipeline.state.metadata.metadata_log_survey import SurveyedLog, survey_metadata_log
from falkirk.protocol.control_record import decode_control_record
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import KRaftVersionRecord, VotersRecord
from falkirk.protocol.record_batch import read_batch
from falkirk.storage.errors import MalformedVotersError
from falkirk.storage.metadata_quorum import STATIC_VOTERS_CONFIG, Voters, choose_log, find_voters
from falkirk.storage.partition_directory import METADATA_DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from falkirk.pipeline.filesystem import Location
    from falkirk.pipeline.fleet import FleetCluster
    from falkirk.protocol.schema import WireMessage
    from falkirk.storage.quorum_state import QuorumState

    Row = dict[str, Any]  # Any: values of columns

# A snapshot's first batch has its header, kraft.version and voters.
_HEAD_BYTES: Final = 64 * 1024
_NO_NEXT: Final = 1 << 63


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenLog:
    """The chosen log; `log` is None if no node has any. `has_majority` as in `QuorumChoice`."""

    node_id: int | None
    log: SurveyedLog | None
    voters: Voters | None
    has_majority: bool | None
    # Rows of the table `problems`, of all nodes.
    problems: list[Row] = field(default_factory=list)


def choose_metadata_log(cluster: FleetCluster) -> ChosenLog:
    """Survey the metadata partitions of all nodes, and choose as an election among them would."""
    problems: list[Row] = []
    logs = {node_id: log for node_id, log in _surveys(cluster, problems) if not log.is_empty}
    if not logs:
        return ChosenLog(
            node_id=None, log=None, voters=_voters(cluster, {}, problems), has_majority=None, problems=problems
        )
    voters = _voters(cluster, logs, problems)
    choice = choose_log({node_id: _End.of(log) for node_id, log in logs.items()}, voters)
    # A log fetched from a running cluster is committed, whoever the voters are.
    has_majority = True if choice.node_id in _live_nodes(cluster) else choice.has_majority
    if has_majority is False:
        problems.append(_no_majority(voters, choice.voters_here, choice.node_id))
    return ChosenLog(
        node_id=choice.node_id,
        log=logs[choice.node_id],
        voters=voters,
        has_majority=has_majority,
        problems=problems,
    )


def _live_nodes(cluster: FleetCluster) -> set[int]:
    return {node.node_id for node in cluster.nodes if node.metadata_dir is not None and node.metadata_dir.is_live}


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """A log's end as `storage.metadata_quorum` takes it."""

    epoch: int
    end_offset: int
    quorum_state: QuorumState | None
    kraft_version: int = 0
    voters: VotersRecord | None = None

    @classmethod
    def of(cls, log: SurveyedLog, kraft_version: int = 0, voters: VotersRecord | None = None) -> _End:
        return cls(
            epoch=log.epoch,
            end_offset=log.end_offset,
            quorum_state=log.quorum_state,
            kraft_version=kraft_version,
            voters=voters,
        )


def _surveys(cluster: FleetCluster, problems: list[Row]) -> Iterator[tuple[int, SurveyedLog]]:
    for node in cluster.nodes:
        if node.metadata_dir is None:
            continue
        directory = node.metadata_dir.location / METADATA_DIRECTORY
        try:
            log = survey_metadata_log(directory)
        except OSError as error:
            problems.append(unreadable_row(Origin(source=directory.uri, node_id=node.node_id), str(error)))
            continue
        problems += [problem | {"node_id": node.node_id} for problem in log.problems]
        yield node.node_id, log


def _voters(cluster: FleetCluster, logs: Mapping[int, SurveyedLog], problems: list[Row]) -> Voters | None:
    ends = {node_id: _End.of(log) for node_id, log in logs.items()}
    if logs:
        # Only the latest log is read for its voters.
        latest = max(logs, key=lambda node_id: (logs[node_id].epoch, logs[node_id].end_offset))
        ends[latest] = _with_controls(logs[latest])
    configured = [
        (f"node {node.node_id}'s {STATIC_VOTERS_CONFIG}", node.server_properties.get(STATIC_VOTERS_CONFIG))
        for node in cluster.nodes
        if node.server_properties is not None
    ]
    try:
        return find_voters(ends.values(), configured)
    except MalformedVotersError as error:
        problems.append({"kind": "unreadable file", "count": 1, "detail": str(error)})
        return find_voters(ends.values(), [])


def _with_controls(log: SurveyedLog) -> _End:
    """Read the control records at the start of the newest snapshot, and of the log behind it."""
    kraft_version, voters = 0, None
    for message in _controls(log):
        if isinstance(message, KRaftVersionRecord):
            kraft_version = message.kraft_version
        elif isinstance(message, VotersRecord):
            voters = message
    return _End.of(log, kraft_version, voters)


def _controls(log: SurveyedLog) -> Iterator[WireMessage]:
    start = 0
    if log.snapshots:
        start = log.snapshots[0].end_offset
        yield from _controls_in(log.snapshot(log.snapshots[0]), 0, end=_HEAD_BYTES)
    for base_offset, next_base in pairwise((*log.segments, _NO_NEXT)):
        if next_base > start:
            yield from _controls_in(log.segment(base_offset), start)


def _controls_in(file: Location, from_offset: int, end: int | None = None) -> Iterator[WireMessage]:
    try:
        size = file.disk.size(file.path)
        for chunk in iter_chunks(file.disk, file.path, ReadReport(), end=size if end is None else min(end, size)):
            for table in iter_batch_tables(chunk.data, ReadReport(), check_crc=False):
                wanted = table.is_control & (table.column("base_offset") >= from_offset)
                for index in np.flatnonzero(wanted).tolist():
                    yield from _messages(chunk.data, int(table.position[index]))
    except OSError:
        # Reported where the file is read as a whole.
        return


def _messages(data: memoryview, position: int) -> Iterator[WireMessage]:
    try:
        for record in read_batch(data, position).records():
            message = decode_control_record(record.key, record.value).message
            if message is not None:
                yield message
    except RemoteProtocolError:
        return


def _no_majority(voters: Voters | None, here: tuple[int, ...], node_id: int) -> Row:
    if voters is None:
        reason = f"the voters are not known (none in the log or in quorum-state, no {STATIC_VOTERS_CONFIG})"
    else:
        reason = (
            f"{len(here)} of the {len(voters.ids)} voters {sorted(voters.ids)} (from {voters.source}) are here, "
            f"a majority is {voters.majority}"
        )
    detail = f"{reason}; the best log is that of node {node_id}, and may be behind"
    return {"kind": "no majority", "count": 1, "detail": detail}
