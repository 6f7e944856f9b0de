"""The metadata at an offset: one row for each object. Columns are named after the records' fields.

Columns ending in `_written` have the place where a part of the object was written last, for losses of that part.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from falkirk.pipeline.tables.table import INTS, PLACE, STRINGS, TIMESTAMP, WRITTEN, Table, column

END_POINTS_TYPE: Final = pa.list_(
    pa.struct(
        [
            pa.field("name", pa.string()),
            pa.field("host", pa.string()),
            pa.field("port", pa.int32()),
            pa.field("security_protocol", pa.int16()),
        ]
    )
)
SUPPORTED_FEATURES_TYPE: Final = pa.list_(
    pa.struct(
        [
            pa.field("name", pa.string()),
            pa.field("min_supported_version", pa.int16()),
            pa.field("max_supported_version", pa.int16()),
        ]
    )
)
QUOTA_ENTITY_TYPE: Final = pa.list_(
    pa.struct([pa.field("entity_type", pa.string()), pa.field("entity_name", pa.string())])
)

BROKERS: Final = Table(
    name="brokers",
    comment="Registered brokers.",
    schema=pa.schema(
        [
            column("broker_id", pa.int32(), "Id of the broker."),
            column("incarnation_id", pa.string(), "Id of the start with which it registered."),
            column("broker_epoch", pa.int64(), "Epoch of the registration: the offset at which it was made."),
            column("end_points", END_POINTS_TYPE, "Its listeners."),
            column("features", SUPPORTED_FEATURES_TYPE, "Levels that it supports."),
            column("rack", pa.string(), "Its rack; null: none."),
            column("fenced", pa.bool_(), "Whether it is fenced: out of contact, or still starting."),
            column(
                "fenced_since",
                TIMESTAMP,
                "Since when, at the latest (the end of a snapshot that has it fenced); null: unknown.",
            ),
            column("in_controlled_shutdown", pa.bool_(), "Whether it is shutting down."),
            column("is_migrating_zk_broker", pa.bool_(), "Whether it migrates from ZooKeeper."),
            column("log_dirs", STRINGS, "Ids of its log directories."),
            column("cordoned_log_dirs", STRINGS, "Ids of cordoned directories, which get no new replicas."),
            WRITTEN,
            column("in_controlled_shutdown_written", PLACE, "Where its controlled shutdown was written last."),
            column("log_dirs_written", PLACE, "Where its log directories were written last."),
            column("cordoned_log_dirs_written", PLACE, "Where the cordoned ones were written last."),
        ]
    ),
)

CONTROLLERS: Final = Table(
    name="controllers",
    comment="Registered controllers.",
    schema=pa.schema(
        [
            column("controller_id", pa.int32(), "Id of the controller."),
            column("incarnation_id", pa.string(), "Id of the start with which it registered."),
            column("zk_migration_ready", pa.bool_(), "Whether it is ready to migrate from ZooKeeper."),
            column("end_points", END_POINTS_TYPE, "Its listeners."),
            column("features", SUPPORTED_FEATURES_TYPE, "Levels that it supports."),
            WRITTEN,
        ]
    ),
)

TOPICS: Final = Table(
    name="topics",
    comment="Topics.",
    schema=pa.schema(
        [
            column("topic_id", pa.string(), "Id of the topic."),
            column("name", pa.string(), "Name of the topic."),
            column("partitions", pa.int32(), "How many partitions it has."),
            WRITTEN,
        ]
    ),
)

PARTITIONS: Final = Table(
    name="partitions",
    comment="Partitions with all changes applied.",
    schema=pa.schema(
        [
            column("topic_id", pa.string(), "Id of the topic."),
            column("topic", pa.string(), "Name of the topic."),
            column("partition_id", pa.int32(), "Number of the partition in its topic."),
            column("replicas", INTS, "Brokers that hold the partition, preferred leader first."),
            column("isr", INTS, "Replicas that are in sync."),
            column("removing_replicas", INTS, "Replicas that a reassignment removes."),
            column("adding_replicas", INTS, "Replicas that a reassignment adds."),
            column("leader", pa.int32(), "Broker that leads; -1: none."),
            column("leader_recovery_state", pa.int8(), "0 recovered, 1 recovering from an unclean election."),
            column("leader_epoch", pa.int32(), "Epoch of the partition's leader."),
            column("partition_epoch", pa.int32(), "Counts every change of the partition."),
            column("directories", STRINGS, "Log directory of each replica, in the order of replicas."),
            column("eligible_leader_replicas", INTS, "Replicas that may lead though out of sync."),
            column("last_known_elr", INTS, "Last members of a lost ELR."),
            WRITTEN,
            column("directories_written", PLACE, "Where the directories were written last."),
            column("replica_state_written", PLACE, "Where ISR, ELR or last known ELR were written last."),
        ]
    ),
)

CONFIGS: Final = Table(
    name="configs",
    comment="Dynamic configurations.",
    schema=pa.schema(
        [
            column("resource_type", pa.int8(), "2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group."),
            column("resource_name", pa.string(), "Name of the resource; empty for the default of all brokers."),
            column("name", pa.string(), "Name of the configuration."),
            column("value", pa.string(), "Its value; `(redacted)` for passwords and unknown configs."),
            WRITTEN,
        ]
    ),
)

ACLS: Final = Table(
    name="acls",
    comment="Access control entries; numbers as in the record.",
    schema=pa.schema(
        [
            column("id", pa.string(), "Id of the entry."),
            column("resource_type", pa.int8(), "2 topic, 3 group, 4 cluster, 5 transactional id, 6 token, 7 user."),
            column("resource_name", pa.string(), "Name or prefix of the resource."),
            column("pattern_type", pa.int8(), "3 literal, 4 prefixed."),
            column("principal", pa.string(), "Principal: `User:alice`."),
            column("host", pa.string(), "Host, `*`, or from 4.4-IV1 on an address range."),
            column("operation", pa.int8(), "2 all, 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe, ..."),
            column("permission_type", pa.int8(), "2 deny, 3 allow."),
            WRITTEN,
        ]
    ),
)

SCRAM_CREDENTIALS: Final = Table(
    name="scram_credentials",
    comment="SCRAM users, without their secrets.",
    schema=pa.schema(
        [
            column("name", pa.string(), "Name of the user."),
            column("mechanism", pa.int8(), "1 SCRAM-SHA-256, 2 SCRAM-SHA-512."),
            column("iterations", pa.int32(), "Iterations of the hash."),
            WRITTEN,
        ]
    ),
)

CLIENT_QUOTAS: Final = Table(
    name="client_quotas",
    comment="Client quotas.",
    schema=pa.schema(
        [
            column("entity", QUOTA_ENTITY_TYPE, "The entity, sorted by type; a null name is the default entity."),
            column("key", pa.string(), "Name of the quota: `producer_byte_rate`."),
            column("value", pa.float64(), "Its value, in the unit of its name."),
            WRITTEN,
        ]
    ),
)

PRODUCER_IDS: Final = Table(
    name="producer_ids",
    comment="The next producer id; at most one row.",
    schema=pa.schema(
        [
            column("next_producer_id", pa.int64(), "First id that is not allocated to a broker yet."),
            WRITTEN,
        ]
    ),
)

UNKNOWN_TAGS: Final = Table(
    name="unknown_tags",
    comment="Tagged fields of objects, unknown to all releases up to 4.4; almost always empty.",
    schema=pa.schema(
        [
            column("key", pa.string(), "The object, as in losses: `topic orders partition 3`."),
            column("record", pa.string(), "Type of the record that carries it."),
            column("path", pa.string(), "Struct in the record; empty: the record itself."),
            column("tag", pa.int64(), "Number of the field."),
            column("data", pa.binary(), "Its bytes."),
            WRITTEN,
        ]
    ),
)
