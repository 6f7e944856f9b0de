"""The fleet: clusters, data directories, and problems in their files."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from falkirk.pipeline.tables.table import INTS, POSITION, SOURCE, TIMESTAMP, Table, column

DYNAMIC_VOTERS_TYPE: Final = pa.list_(
    pa.struct(
        [
            pa.field("voter_id", pa.int32()),
            pa.field("directory_id", pa.string()),
            pa.field("host", pa.string()),
            pa.field("port", pa.int32()),
        ]
    )
)

CLUSTERS: Final = Table(
    name="clusters",
    comment="One row for each cluster whose metadata was read: which node's log, and up to which offset.",
    schema=pa.schema(
        [
            column("cluster_id", pa.string(), "Id of the cluster, from its meta.properties."),
            column("metadata_version", pa.int16(), "Finalized level of metadata.version; null: none."),
            column("kraft_version", pa.int16(), "Level of kraft.version; 0 with static voters."),
            column("epoch", pa.int32(), "Epoch of the last metadata record."),
            column("end_offset", pa.int64(), "End offset of the metadata in the tables."),
            column("last_timestamp", TIMESTAMP, "Append time of the last metadata record."),
            column("chosen_node", pa.int32(), "Node whose metadata log was read; null: the cluster never ran."),
            column("nodes", INTS, "Nodes whose directories were read."),
            column("voters", INTS, "Ids of the voters; null: unknown."),
            column(
                "dynamic_voters",
                DYNAMIC_VOTERS_TYPE,
                "Voters in the log, each with its first listener (null: none); null: kraft.version 0.",
            ),
            column(
                "has_majority",
                pa.bool_(),
                "Whether the logs of a majority of the voters were read; if not, the log may be behind.",
            ),
            column(
                "is_complete",
                pa.bool_(),
                "Whether the metadata was read to its end, without damaged or unknown records behind its snapshot.",
            ),
            column("owner", pa.string(), "Owner of the cluster in the inventory; null: not there."),
            column("team", pa.string(), "Its team there."),
            column("region", pa.string(), "Its region there."),
            column("environment", pa.string(), "Its environment there."),
            column("ingested_at", TIMESTAMP, "Time of the ingest that read this state."),
        ]
    ),
)

LOG_DIRS: Final = Table(
    name="log_dirs",
    comment="One row for each data directory (log.dirs).",
    schema=pa.schema(
        [
            column("node_id", pa.int32(), "Node that the directory belongs to (node.id)."),
            column("path", pa.string(), "The directory."),
            column("cluster_id", pa.string(), "Its cluster.id."),
            column("directory_id", pa.string(), "Its directory.id; null: none (before 3.7)."),
            column("version", pa.int16(), "Version of its meta.properties."),
            column("bootstrap_level", pa.int16(), "metadata.version in its bootstrap.checkpoint; null: no such file."),
            column("is_clean", pa.bool_(), "Whether the file that marks a clean shutdown is there."),
            column("partitions", pa.int32(), "Partition directories, without that of the metadata."),
            column("log_bytes", pa.int64(), "Bytes of all segments."),
            column("has_metadata", pa.bool_(), "Whether it holds the metadata log of its node."),
            column("metadata_epoch", pa.int32(), "Epoch of the last batch of that log."),
            column("metadata_end_offset", pa.int64(), "Its end offset."),
            column("snapshot_end_offset", pa.int64(), "End offset of its newest complete snapshot."),
            column("snapshot_epoch", pa.int32(), "Epoch of that snapshot."),
            column("leader_id", pa.int32(), "Leader in quorum-state; -1: none."),
            column("leader_epoch", pa.int32(), "Epoch in quorum-state."),
            column("voted_id", pa.int32(), "Candidate that the node voted for in that epoch; -1: none."),
        ]
    ),
)

PROBLEMS: Final = Table(
    name="problems",
    comment="Bytes of the files without rows, and facts that make rows doubtful; a run continues behind them.",
    schema=pa.schema(
        [
            column("node_id", pa.int32(), "Node that owns the file's directory; null: about the whole cluster."),
            SOURCE,
            column(
                "kind",
                pa.string(),
                "`torn tail`, `corrupt batch`, `bad record`, `unknown record`, `bad line`, `unreadable file`, "
                "`no majority`, `gap`, `inconsistent record`, `open transaction`, `same cluster id`, "
                "`other cluster id`.",
            ),
            POSITION,
            column("offset", pa.int64(), "Offset of the record, or base offset of the batch."),
            column(
                "count",
                pa.int64(),
                "How many: unknown records of one type, or problems that are too many to list.",
            ),
            column("detail", pa.string(), "The problem, as a sentence."),
        ]
    ),
)
