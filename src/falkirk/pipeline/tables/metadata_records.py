"""The metadata log as it was written: every record, and every change of a feature level."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from falkirk.pipeline.tables.table import INTS, NODE_ID, POSITION, SOURCE, STRINGS, TIMESTAMP, Table, column

PARTITION_TYPE: Final = pa.struct(
    [
        pa.field("topic_id", pa.string()),
        pa.field("partition_id", pa.int32()),
        pa.field("replicas", INTS),
        pa.field("isr", INTS),
        pa.field("removing_replicas", INTS),
        pa.field("adding_replicas", INTS),
        pa.field("leader", pa.int32()),
        pa.field("leader_recovery_state", pa.int8()),
        pa.field("leader_epoch", pa.int32()),
        pa.field("partition_epoch", pa.int32()),
        pa.field("directories", STRINGS),
        pa.field("eligible_leader_replicas", INTS),
        pa.field("last_known_elr", INTS),
    ]
)
PARTITION_CHANGE_TYPE: Final = pa.struct(
    [
        pa.field("topic_id", pa.string()),
        pa.field("partition_id", pa.int32()),
        pa.field("isr", INTS),
        pa.field("leader", pa.int32()),
        pa.field("replicas", INTS),
        pa.field("removing_replicas", INTS),
        pa.field("adding_replicas", INTS),
        pa.field("leader_recovery_state", pa.int8()),
        pa.field("directories", STRINGS),
        pa.field("eligible_leader_replicas", INTS),
        pa.field("last_known_elr", INTS),
    ]
)
TOPIC_TYPE: Final = pa.struct([pa.field("name", pa.string()), pa.field("topic_id", pa.string())])
CONFIG_TYPE: Final = pa.struct(
    [
        pa.field("resource_type", pa.int8()),
        pa.field("resource_name", pa.string()),
        pa.field("name", pa.string()),
        pa.field("value", pa.string()),
    ]
)
UNKNOWN_TAGS_TYPE: Final = pa.list_(
    pa.struct([pa.field("path", pa.string()), pa.field("tag", pa.int64()), pa.field("data", pa.binary())])
)

METADATA_RECORDS: Final = Table(
    name="metadata_records",
    comment="Every record of the chosen metadata log, and of its newest snapshot.",
    schema=pa.schema(
        [
            NODE_ID,
            SOURCE,
            column("is_snapshot", pa.bool_(), "Whether the file is a snapshot, whose offsets count from 0."),
            POSITION,
            column("offset", pa.int64(), "Offset of the record in its file's log."),
            column("epoch", pa.int32(), "Epoch of the leader that appended the batch."),
            column("timestamp", TIMESTAMP, "Append time of the record."),
            column("record_type", pa.int16(), "Number of the record's type."),
            column("record_name", pa.string(), "Name of the record's type: `FeatureLevelRecord`."),
            column("record_version", pa.int16(), "Version of the record."),
            column("key", pa.string(), "Key of the object that it is about, as JSON; null for types with columns."),
            column("json", pa.string(), "The record in Kafka's JSON form; null for types with columns."),
            column("partition", PARTITION_TYPE, "A PartitionRecord."),
            column("partition_change", PARTITION_CHANGE_TYPE, "A PartitionChangeRecord; null: as before."),
            column("topic", TOPIC_TYPE, "A TopicRecord."),
            column("config", CONFIG_TYPE, "A ConfigRecord."),
            column("unknown_tagged_fields", UNKNOWN_TAGS_TYPE, "Tagged fields unknown to all releases up to 4.4."),
        ]
    ),
)

FEATURE_LEVELS: Final = Table(
    name="feature_levels",
    comment="Every change of a finalized feature level, and the levels at the start of the oldest files.",
    schema=pa.schema(
        [
            column("feature", pa.string(), "Name of the feature; kraft.version and metadata.version are among them."),
            column("from_level", pa.int16(), "Level before; 0: not finalized; null: the files begin later."),
            column("to_level", pa.int16(), "Level from then on; 0: not finalized any more."),
            column("offset", pa.int64(), "Offset of the change; null: known only from a snapshot."),
            column("epoch", pa.int32(), "Epoch of the leader that appended it; of the snapshot."),
            column("timestamp", TIMESTAMP, "When it was appended; for a snapshot, the timestamp of its end."),
            SOURCE,
            column("is_current", pa.bool_(), "Whether it is the level at the end of the log."),
        ]
    ),
)
