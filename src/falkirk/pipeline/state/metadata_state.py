"""The tables of one cluster's metadata, from the files of its nodes: no object for each partition, no Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.pipeline.readers.row_columns import NO_TIME, TIME_END, TIME_MIN
from falkirk.pipeline.state.metadata.config_rows import config_rows
from falkirk.pipeline.state.metadata.feature_level_rows import feature_level_rows
from falkirk.pipeline.state.metadata.fenced_since import fenced_since
from falkirk.pipeline.state.metadata.inconsistencies import Inconsistencies
from falkirk.pipeline.state.metadata.log_dir_rows import log_dir_row
from falkirk.pipeline.state.metadata.metadata_files import read_metadata
from falkirk.pipeline.state.metadata.metadata_quorum import choose_metadata_log
from falkirk.pipeline.state.metadata.metadata_rows import CONFIG, PARTITION, PARTITION_CHANGE, TOPIC
from falkirk.pipeline.state.metadata.metadata_transactions import without_transactions
from falkirk.pipeline.state.metadata.other_rows import OtherRows
from falkirk.pipeline.state.metadata.other_state import other_state
from falkirk.pipeline.state.partitions.elr_clears import elr_clears
from falkirk.pipeline.state.partitions.partition_rows import partitions_of, topic_rows
from falkirk.pipeline.state.partitions.topic_lives import topic_lives
from falkirk.pipeline.state.trend import trend_row
from falkirk.pipeline.state.unknown_tag_rows import unknown_tag_rows
from falkirk.pipeline.tables import TABLES
from falkirk.protocol.messages import RemoveTopicRecord
from falkirk.protocol.uuid import uuid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import pyarrow as pa

    from falkirk.pipeline.filesystem import Location
    from falkirk.pipeline.fleet import FleetCluster
    from falkirk.pipeline.state.metadata.metadata_files import ReadMetadata
    from falkirk.pipeline.state.metadata.metadata_quorum import ChosenLog
    from falkirk.pipeline.state.metadata.metadata_reader import ReadFile
    from falkirk.pipeline.state.metadata.metadata_rows import OtherRecord
    from falkirk.protocol.messages import VotersRecord

    Row = dict[str, Any]  # Any: values of columns

STATE_TABLES: Final = frozenset(
    {
        "clusters",
        "log_dirs",
        "feature_levels",
        "brokers",
        "controllers",
        "topics",
        "partitions",
        "configs",
        "acls",
        "scram_credentials",
        "client_quotas",
        "producer_ids",
        "unknown_tags",
        "trends",
        "problems",
    }
)
# Tables that depend on all records, because they report contradictions among them.
_OF_ALL: Final = frozenset({"clusters", "problems", "unknown_tags"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataState:
    """The tables, each as batches that can be iterated more than once, and the files they come from.

    `chosen_node` is the node whose metadata log was read, None if no node has one. `snapshot` is among the `files`.
    """

    tables: Mapping[str, Iterable[pa.RecordBatch]]
    chosen_node: int | None
    snapshot: Location | None
    files: tuple[ReadFile, ...]


def metadata_state(
    cluster: FleetCluster, *, tables: frozenset[str] = STATE_TABLES, ingested_at_ms: int | None = None
) -> MetadataState:
    """Read a cluster's metadata as of the offset that it names, else as of its end.

    Returns those of the `tables` that are about metadata. Damaged, missing and contradictory records become rows of
    `problems`; everything else is still read. Raises InventoryError if the log does not hold the state at `as_of`,
    OSError if a data directory cannot be listed.
    """
    chosen = choose_metadata_log(cluster)
    read = read_metadata(cluster, chosen, _bulk(tables))
    made = _Tables(cluster, chosen, read, ingested_at_ms).make(tables & STATE_TABLES)
    return MetadataState(tables=made, chosen_node=chosen.node_id, snapshot=read.snapshot, files=read.files)


def _bulk(tables: frozenset[str]) -> frozenset[str]:
    """Return the bulk record types that the tables need."""
    wanted = set()
    if tables & _OF_ALL or tables & {"topics", "partitions", "trends"}:
        wanted |= {TOPIC, PARTITION, PARTITION_CHANGE}
    if tables & _OF_ALL or "configs" in tables:
        wanted |= {TOPIC, CONFIG}
    return frozenset(wanted)


class _Tables:
    """Makes the tables from the records read."""

    def __init__(
        self, cluster: FleetCluster, chosen: ChosenLog, read: ReadMetadata, ingested_at_ms: int | None
    ) -> None:
        self._cluster = cluster
        self._ingested_at_ms = ingested_at_ms
        self._chosen = chosen
        self._read = read
        self._problems = Inconsistencies()
        self._rows, self._transactions = without_transactions(read.rows, self._problems)
        self._others = other_state(self._rows.others, self._problems)
        of_state = [other for other in self._rows.others if not other.is_earlier]
        removals = [other for other in of_state if isinstance(other.message, RemoveTopicRecord)]
        self._lives = topic_lives(self._rows.bulk[TOPIC], removals, self._problems)
        clears = elr_clears(of_state, self._lives, self._problems)
        self._partitions = partitions_of(self._rows, self._lives, clears, self._others.lowerings, self._problems)

    def make(self, tables: frozenset[str]) -> dict[str, Iterable[pa.RecordBatch]]:
        """Return the wanted tables, in the order of the documentation."""
        rows = OtherRows(self._others, self._rows.files)
        makers: dict[str, Callable[[], Iterable[pa.RecordBatch]]] = {
            "topics": lambda: [topic_rows(self._rows, self._lives, self._partitions)],
            "partitions": lambda: self._partitions,
            "configs": lambda: [config_rows(self._rows, self._lives.removals)],
        }
        few: dict[str, Callable[[], Iterable[Row]]] = {
            "clusters": self._cluster_rows,
            "log_dirs": self._log_dir_rows,
            "feature_levels": self._feature_level_rows,
            "brokers": lambda: rows.brokers(self._fenced_since()),
            "controllers": rows.controllers,
            "acls": rows.acls,
            "scram_credentials": rows.scram_credentials,
            "client_quotas": rows.client_quotas,
            "producer_ids": rows.producer_ids,
            "unknown_tags": self._unknown_tag_rows,
            "trends": self._trend_rows,
            "problems": self._problem_rows,
        }
        return {
            name: makers[name]() if name in makers else [TABLES[name].rows(few[name]())]
            for name in TABLES
            if name in tables
        }

    def _cluster_rows(self) -> list[Row]:
        if not self._cluster.nodes:
            return []
        read, voters = self._read, self._chosen.voters
        level = self._others.image.features.metadata_version
        return [
            {
                "cluster_id": self._cluster.cluster_id,
                "metadata_version": None if level is None else level.level,
                "kraft_version": read.kraft_version,
                "epoch": read.epoch,
                "end_offset": read.end_offset,
                "last_timestamp": _time(read.last_timestamp),
                "chosen_node": self._chosen.node_id if read.epoch is not None else None,
                "nodes": [node.node_id for node in self._cluster.nodes],
                "voters": None if voters is None else sorted(voters.ids),
                "dynamic_voters": _dynamic_voters(read.voters) if read.kraft_version and read.voters else None,
                "has_majority": self._chosen.has_majority,
                "is_complete": read.is_complete and not self._problems,
                "owner": self._cluster.tags.owner,
                "team": self._cluster.tags.team,
                "region": self._cluster.tags.region,
                "environment": self._cluster.tags.environment,
                "ingested_at": self._ingested_at_ms,
            }
        ]

    def _trend_rows(self) -> list[Row]:
        """Return the row of the ingest's day; a state of the past leaves none."""
        if not self._cluster.nodes or self._ingested_at_ms is None or self._cluster.as_of is not None:
            return []
        return [trend_row(self._others.image, self._partitions, self._read.end_offset, self._ingested_at_ms)]

    def _log_dir_rows(self) -> list[Row]:
        return [log_dir_row(log_dir, node.node_id) for node in self._cluster.nodes for log_dir in node.log_dirs]

    def _feature_level_rows(self) -> list[Row]:
        rows = feature_level_rows(
            [*self._others.records, *self._rows.controls],
            self._rows.files,
            self._read.facts,
            begins_at_0=self._read.begins_at_0,
        )
        return [row | {"timestamp": _time(row["timestamp"])} for row in rows]

    def _fenced_since(self) -> dict[int, int | None]:
        since = fenced_since(self._others.records, self._read.facts)
        return {broker: _time(timestamp) for broker, timestamp in since.items()}

    def _unknown_tag_rows(self) -> list[Row]:
        state = {**self._partitions.sound_rows, TOPIC: self._lives.rows, CONFIG: self._rows.bulk[CONFIG]}
        return unknown_tag_rows(state, self._rows.earlier, self._others, self._lives, self._rows.files)

    def _problem_rows(self) -> list[Row]:
        read = self._read
        found = [*self._chosen.problems, *read.problems, *self._problems.rows(self._rows.files, self._chosen.node_id)]
        begin = self._transactions.open_at
        if begin is not None and self._cluster.as_of is None:
            found.append(self._open_transaction(begin))
        return found

    def _open_transaction(self, begin: OtherRecord) -> Row:
        bulk, others = self._read.rows.bulk.values(), self._read.rows.others
        held_back = sum(int((rows.order > begin.order).sum()) for rows in bulk)
        held_back += sum(other.order > begin.order and not other.is_earlier for other in others)
        name = getattr(begin.message, "name", None) or ""
        return {
            "node_id": self._chosen.node_id,
            "source": self._rows.files[begin.file],
            "kind": "open transaction",
            "offset": begin.offset,
            "count": 1,
            "detail": f"metadata transaction {name} of offset {begin.offset} never ended; its {held_back} records do "
            "not count",
        }


def _dynamic_voters(record: VotersRecord) -> list[Row]:
    rows = []
    for voter in sorted(record.voters, key=lambda voter: voter.voter_id):
        listener = voter.endpoints[0] if voter.endpoints else None
        rows.append(
            {
                "voter_id": voter.voter_id,
                "directory_id": uuid_text(voter.voter_directory_id),
                "host": None if listener is None else listener.host,
                "port": None if listener is None else listener.port,
            }
        )
    return rows


def _time(milliseconds: int | None) -> int | None:
    """Return a time; None for Kafka's "none" and for times outside the years 1 to 9999."""
    if milliseconds is None or milliseconds == NO_TIME:
        return None
    return milliseconds if TIME_MIN <= milliseconds < TIME_END else None
