"""The schema of each table, with a comment for every column (`field.metadata[b"comment"]`).

Names are those of Kafka's own fields in snake_case. A column that a record's version lacks has the value that the row
codec sets: the schema's default.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from falkirk.columnar.message_columns import UNKNOWN_TAGS, UNKNOWN_TAGS_TYPE

UUID: Final = pa.binary(16)
_INTS: Final = pa.list_(pa.int32())
_UUIDS: Final = pa.list_(UUID)
HEADERS_TYPE: Final = pa.list_(
    pa.struct([pa.field("key", pa.binary(), nullable=False), pa.field("value", pa.binary())])
)


def _column(name: str, type_: pa.DataType, comment: str, *, nullable: bool = False) -> pa.Field[pa.DataType]:
    return pa.field(name, type_, nullable=nullable, metadata={"comment": comment})


_POSITION: Final = _column(
    "position", pa.int64(), "Byte of the file where the record starts; of its batch, where that is compressed."
)
_OFFSET: Final = _column("offset", pa.int64(), "Offset of the record in its log; in a snapshot counted from 0.")
_EPOCH: Final = _column("epoch", pa.int32(), "Epoch of the log's leader that appended the batch; -1 unknown.")
_TIMESTAMP: Final = _column("timestamp", pa.int64(), "Milliseconds since 1970, set by the writer or the leader.")


RECORDS: Final = pa.schema(
    [
        _POSITION,
        _column("base_offset", pa.int64(), "First offset that the record's batch was made with."),
        _OFFSET,
        _EPOCH,
        _TIMESTAMP,
        _column("attributes", pa.int16(), "Attributes of the batch: codec, timestamp type, transactional, control."),
        _column("producer_id", pa.int64(), "Idempotent or transactional producer; -1 without."),
        _column("producer_epoch", pa.int16(), "Epoch of that producer; -1 without."),
        _column("sequence", pa.int32(), "Sequence number of the record, wrapping at 2^31; -1 without."),
        _column("is_control", pa.bool_(), "A control record: its key names the kind, and it is no data."),
        _column("key", pa.binary_view(), "Bytes of the key.", nullable=True),
        _column("value", pa.binary_view(), "Bytes of the value; null is a tombstone.", nullable=True),
    ]
)

RECORDS_WITH_HEADERS: Final = RECORDS.append(
    _column("headers", HEADERS_TYPE, "Headers in their order; a key may repeat, and is UTF-8 by convention only.")
)

_METADATA_HEAD: Final = [
    _POSITION,
    _OFFSET,
    _EPOCH,
    _TIMESTAMP,
    _column("record_version", pa.int16(), "Version that the record was written at."),
]
_TAGS: Final = _column(
    UNKNOWN_TAGS, UNKNOWN_TAGS_TYPE, "Tagged fields that no release up to 4.4 has; null: none.", nullable=True
)

PARTITION_RECORDS: Final = pa.schema(
    [
        *_METADATA_HEAD,
        _column("partition_id", pa.int32(), "Number of the partition in its topic."),
        _column("topic_id", UUID, "Id of the topic."),
        _column("replicas", _INTS, "Brokers that hold the partition, preferred leader first."),
        _column("isr", _INTS, "Replicas that are in sync."),
        _column("removing_replicas", _INTS, "Replicas that a reassignment removes."),
        _column("adding_replicas", _INTS, "Replicas that a reassignment adds."),
        _column("leader", pa.int32(), "Broker that leads; -1: none."),
        _column("leader_recovery_state", pa.int8(), "0 recovered, 1 recovering from an unclean election."),
        _column("leader_epoch", pa.int32(), "Epoch of the partition's leader."),
        _column("partition_epoch", pa.int32(), "Counts every change of the partition."),
        _column("directories", _UUIDS, "Log directory of each replica, in the order of replicas (from version 1)."),
        _column(
            "eligible_leader_replicas", _INTS, "Replicas that may lead though out of sync (version 2).", nullable=True
        ),
        _column("last_known_elr", _INTS, "Last members of an ELR that was lost (version 2).", nullable=True),
        _TAGS,
    ]
)

TOPIC_RECORDS: Final = pa.schema(
    [
        *_METADATA_HEAD,
        _column("name", pa.string(), "Name of the topic."),
        _column("topic_id", UUID, "Id of the topic."),
        _TAGS,
    ]
)

CONFIG_RECORDS: Final = pa.schema(
    [
        *_METADATA_HEAD,
        _column("resource_type", pa.int8(), "2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group."),
        _column("resource_name", pa.string(), "Name of the resource; empty for the default of all brokers."),
        _column("name", pa.string(), "Name of the configuration."),
        _column("value", pa.string(), "Its value; null removes the configuration.", nullable=True),
        _TAGS,
    ]
)

PARTITION_CHANGE_RECORDS: Final = pa.schema(
    [
        *_METADATA_HEAD,
        _column("partition_id", pa.int32(), "Number of the partition in its topic."),
        _column("topic_id", UUID, "Id of the topic."),
        _column("isr", _INTS, "New ISR; null: as before.", nullable=True),
        _column("leader", pa.int32(), "New leader; -1 none, -2 as before."),
        _column("replicas", _INTS, "New replicas; null: as before.", nullable=True),
        _column("removing_replicas", _INTS, "New removing replicas; null: as before.", nullable=True),
        _column("adding_replicas", _INTS, "New adding replicas; null: as before.", nullable=True),
        _column("leader_recovery_state", pa.int8(), "New recovery state; -1: as before."),
        _column("directories", _UUIDS, "New log directories; null: as before (from version 1).", nullable=True),
        _column("eligible_leader_replicas", _INTS, "New ELR; null: as before (version 2).", nullable=True),
        _column("last_known_elr", _INTS, "New last known ELR; null: as before (version 2).", nullable=True),
        _TAGS,
    ]
)

OTHER_METADATA_RECORDS: Final = pa.schema(
    [
        *_METADATA_HEAD,
        _column("record_type", pa.int16(), "Number of the record's type."),
        _column("record_name", pa.string(), "Name of the record's type, as Kafka's: `FeatureLevelRecord`."),
        _column("key", pa.string(), "The fields that say which object the record is about, as a JSON object."),
        _column("json", pa.string(), "The record in Kafka's JSON form."),
        _column(
            UNKNOWN_TAGS,
            pa.list_(
                pa.struct([pa.field("path", pa.string()), pa.field("tag", pa.int64()), pa.field("data", pa.binary())])
            ),
            "Tagged fields that no release up to 4.4 has, and the structs they stand in; null: none.",
            nullable=True,
        ),
    ]
)

_COORDINATOR_HEAD: Final = [
    _POSITION,
    _OFFSET,
    _EPOCH,
    _TIMESTAMP,
    _column("record_type", pa.int16(), "Type of the record: the number that its key begins with."),
    _column("value_version", pa.int16(), "Version of the value; null for a tombstone.", nullable=True),
]

OFFSET_COMMITS: Final = pa.schema(
    [
        *_COORDINATOR_HEAD,
        _column("group", pa.string(), "Group that committed."),
        _column("topic", pa.string(), "Name of the topic."),
        _column("partition", pa.int32(), "Number of the partition."),
        _column("committed_offset", pa.int64(), "Next offset to read; null for a tombstone.", nullable=True),
        _column(
            "committed_leader_epoch",
            pa.int32(),
            "Leader epoch of that offset, -1 unknown (from version 3).",
            nullable=True,
        ),
        _column("commit_metadata", pa.string(), "What the client put beside the offset.", nullable=True),
        _column("commit_timestamp", pa.int64(), "When the commit reached the coordinator; ms.", nullable=True),
        _column(
            "expire_timestamp", pa.int64(), "When it expires; ms, -1 by retention (version 1 only).", nullable=True
        ),
        _column("topic_id", UUID, "Id of the topic, zero if unknown (from version 4).", nullable=True),
        _TAGS,
    ]
)

GROUP_RECORDS: Final = pa.schema(
    [
        *_COORDINATOR_HEAD,
        _column("record_name", pa.string(), "Name of the record's kind, as in its key: `GroupMetadata`."),
        _column("group", pa.string(), "Group that the record is about."),
        _column("key", pa.string(), "The key in Kafka's JSON form."),
        _column("value", pa.binary_view(), "Bytes of the value with its version before it.", nullable=True),
    ]
)
