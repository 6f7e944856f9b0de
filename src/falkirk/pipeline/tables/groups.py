"""Groups and transactions: the records of the coordinators' topics, and the state at their end."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from falkirk.pipeline.tables.table import BATCH_COLUMNS, NODE_ID, POSITION, SOURCE, STRINGS, TIMESTAMP, Table, column

OFFSET_COMMIT_TYPE: Final = pa.struct(
    [
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("committed_offset", pa.int64()),
        pa.field("leader_epoch", pa.int32()),
        pa.field("metadata", pa.string()),
        pa.field("commit_timestamp", TIMESTAMP),
        pa.field("expire_timestamp", TIMESTAMP),
        pa.field("topic_id", pa.string()),
    ]
)
TOPIC_PARTITIONS_TYPE: Final = pa.list_(
    pa.struct([pa.field("topic", pa.string()), pa.field("partitions", pa.list_(pa.int32()))])
)
_PARTITION: Final = column("partition", pa.int32(), "Partition of the coordinator's topic that holds it.")
_OFFSET: Final = column("offset", pa.int64(), "Offset of its last record.")

GROUP_RECORDS: Final = Table(
    name="group_records",
    comment="Every record of `__consumer_offsets`, from the longest replica of each partition.",
    schema=pa.schema(
        [
            NODE_ID,
            column("partition", pa.int32(), "Partition of `__consumer_offsets`."),
            SOURCE,
            POSITION,
            *BATCH_COLUMNS,
            column("is_transactional", pa.bool_(), "Whether the batch is part of a transaction."),
            column("control_type", pa.int16(), "Kind of a control record: 0 abort, 1 commit; null: data."),
            column("record_type", pa.int16(), "Type of the record, from its key; null: the key has none."),
            column("record_name", pa.string(), "Name of that type, `GroupMetadata`; null: unknown to all releases."),
            column("value_version", pa.int16(), "Version of the value; null: a tombstone, or too short."),
            column("group", pa.string(), "Group that the record is about."),
            column("offset_commit", OFFSET_COMMIT_TYPE, "An offset commit that parses; null fields: a tombstone."),
            column("unknown_tags", pa.int32(), "Number of tagged fields unknown to all releases up to 4.4."),
            column("key", pa.binary(), "Bytes of the key."),
            column("value", pa.binary(), "Bytes of the value; null: a tombstone."),
        ]
    ),
)

GROUPS: Final = Table(
    name="groups",
    comment="Groups at the end of their partitions, offsets without a group (`simple`) included.",
    schema=pa.schema(
        [
            column("group", pa.string(), "Id of the group."),
            column("type", pa.string(), "`classic`, `consumer`, `share`, `streams`, or `simple`: offsets alone."),
            _PARTITION,
            column("epoch", pa.int32(), "Group epoch; of a classic group the generation."),
            column("protocol_type", pa.string(), "Protocol type of a classic group: `consumer`, `connect`."),
            column("protocol", pa.string(), "Assignor chosen by a classic group."),
            column("members", pa.int32(), "Members."),
            column("committed_offsets", pa.int32(), "Partitions with a committed offset."),
            column("pending_offsets", pa.int32(), "Partitions with an offset in an open transaction."),
            column("last_timestamp", TIMESTAMP, "Time of its last record, commits included."),
        ]
    ),
)

GROUP_MEMBERS: Final = Table(
    name="group_members",
    comment="Members of groups.",
    schema=pa.schema(
        [
            column("group", pa.string(), "Id of the group."),
            column("type", pa.string(), "Type of the group."),
            _PARTITION,
            column("member_id", pa.string(), "Id of the member."),
            column("instance_id", pa.string(), "group.instance.id of a static member; null: dynamic."),
            column("client_id", pa.string(), "client.id."),
            column("client_host", pa.string(), "Address that it connects from."),
            column(
                "protocol", pa.string(), "Protocol that the member speaks: `classic`, `consumer`, `share`, `streams`."
            ),
            column("member_epoch", pa.int32(), "Member epoch; null for classic ones."),
            column("rack_id", pa.string(), "client.rack; null: none."),
            column("subscribed_topics", STRINGS, "Topics by name; null: none that can be read."),
            column("subscribed_regex", pa.string(), "Subscribed pattern, of consumer groups; null: none."),
            column("assigned", TOPIC_PARTITIONS_TYPE, "Partitions by topic: by name, or by id in newer groups."),
        ]
    ),
)

COMMITTED_OFFSETS: Final = Table(
    name="committed_offsets",
    comment="The last committed offset of each group and partition.",
    schema=pa.schema(
        [
            column("group", pa.string(), "Group that committed."),
            column("topic", pa.string(), "Name of the topic."),
            column("topic_partition", pa.int32(), "Number of the partition."),
            column("committed_offset", pa.int64(), "Next offset to read."),
            column("leader_epoch", pa.int32(), "Leader epoch of that offset; -1 unknown."),
            column("metadata", pa.string(), "Metadata that the client committed with the offset."),
            column("commit_timestamp", TIMESTAMP, "When the commit reached the coordinator."),
            column("expire_timestamp", TIMESTAMP, "When it expires; null: by retention."),
            column("topic_id", pa.string(), "Id of the topic; null: the commit names none."),
            column("is_pending", pa.bool_(), "Whether its transaction is still open: not yet served."),
            _PARTITION,
            _OFFSET,
        ]
    ),
)

TRANSACTIONS: Final = Table(
    name="transactions",
    comment="Transactional ids at the end of `__transaction_state`.",
    schema=pa.schema(
        [
            column("transactional_id", pa.string(), "Id of the transaction's producer."),
            column("producer_id", pa.int64(), "Its current producer id."),
            column("producer_epoch", pa.int16(), "Epoch of that producer."),
            column("previous_producer_id", pa.int64(), "Producer id before; -1 none (flexible records)."),
            column("next_producer_id", pa.int64(), "Producer id after; -1 none (flexible records)."),
            column("status", pa.string(), "`Empty`, `Ongoing`, `PrepareCommit`, `PrepareAbort`, `CompleteCommit`, ..."),
            column("timeout_ms", pa.int32(), "Transaction timeout."),
            column("start_timestamp", TIMESTAMP, "When the transaction began; null: none is open."),
            column("last_update_timestamp", TIMESTAMP, "When it changed last."),
            column("topic_partitions", TOPIC_PARTITIONS_TYPE, "Partitions in the transaction."),
            column("client_transaction_version", pa.int16(), "transaction.version that its client uses."),
            column("value_version", pa.int16(), "Version of the record: 0, or 1 (flexible)."),
            _PARTITION,
            _OFFSET,
        ]
    ),
)
