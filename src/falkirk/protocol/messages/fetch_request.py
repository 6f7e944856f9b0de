"""Generated from schemas/messages/api/01_Fetch.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from falkirk.protocol.schema import (
    ZERO_UUID,
    Field,
    MessageSchema,
    StructSchema,
    UnknownTaggedFields,
    WireMessage,
    WireStruct,
)


class ReplicaState(WireStruct, gc=False):
    replica_id: int = -1
    replica_epoch: int = -1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ReplicaId", "replica_id", "int32", "15+", default=-1),
        Field("ReplicaEpoch", "replica_epoch", "int64", "15+", default=-1),
    )


class FetchPartition(WireStruct, gc=False):
    partition: int = 0
    current_leader_epoch: int = -1
    fetch_offset: int = 0
    last_fetched_epoch: int = -1
    log_start_offset: int = -1
    partition_max_bytes: int = 0
    replica_directory_id: bytes = ZERO_UUID
    high_watermark: int = 9223372036854775807
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Partition", "partition", "int32", "0+"),
        Field("CurrentLeaderEpoch", "current_leader_epoch", "int32", "9+", default=-1, ignorable=True),
        Field("FetchOffset", "fetch_offset", "int64", "0+"),
        Field("LastFetchedEpoch", "last_fetched_epoch", "int32", "12+", default=-1),
        Field("LogStartOffset", "log_start_offset", "int64", "5+", default=-1, ignorable=True),
        Field("PartitionMaxBytes", "partition_max_bytes", "int32", "0+"),
        Field("ReplicaDirectoryId", "replica_directory_id", "uuid", "17+", tag=0, ignorable=True),
        Field("HighWatermark", "high_watermark", "int64", "18+", tag=1, default=9223372036854775807, ignorable=True),
    )


class FetchTopic(WireStruct, gc=False):
    topic: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[FetchPartition] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Topic", "topic", "string", "0-12", ignorable=True),
        Field("TopicId", "topic_id", "uuid", "13+", ignorable=True),
        Field("Partitions", "partitions", FetchPartition, "0+", array=True),
    )


class ForgottenTopic(WireStruct, gc=False):
    topic: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Topic", "topic", "string", "7-12", ignorable=True),
        Field("TopicId", "topic_id", "uuid", "13+", ignorable=True),
        Field("Partitions", "partitions", "int32", "7+", array=True),
    )


class FetchRequest(WireMessage, gc=False):
    """FetchRequest: request 1, versions 0-18, flexible 12+."""

    cluster_id: str | None = None
    replica_id: int = -1
    replica_state: ReplicaState = msgspec.field(default_factory=ReplicaState)
    max_wait_ms: int = 0
    min_bytes: int = 0
    max_bytes: int = 2147483647
    isolation_level: int = 0
    session_id: int = 0
    session_epoch: int = -1
    topics: list[FetchTopic] = []
    forgotten_topics_data: list[ForgottenTopic] = []
    rack_id: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "FetchRequest",
        "request",
        Field("ClusterId", "cluster_id", "string", "12+", nullable="12+", tag=0, default=None, ignorable=True),
        Field("ReplicaId", "replica_id", "int32", "0-14", default=-1),
        Field("ReplicaState", "replica_state", ReplicaState, "15+", tag=1, ignorable=True),
        Field("MaxWaitMs", "max_wait_ms", "int32", "0+"),
        Field("MinBytes", "min_bytes", "int32", "0+"),
        Field("MaxBytes", "max_bytes", "int32", "3+", default=2147483647, ignorable=True),
        Field("IsolationLevel", "isolation_level", "int8", "4+", ignorable=True),
        Field("SessionId", "session_id", "int32", "7+", ignorable=True),
        Field("SessionEpoch", "session_epoch", "int32", "7+", default=-1, ignorable=True),
        Field("Topics", "topics", FetchTopic, "0+", array=True),
        Field("ForgottenTopicsData", "forgotten_topics_data", ForgottenTopic, "7+", array=True),
        Field("RackId", "rack_id", "string", "11+", ignorable=True),
        versions="0-18",
        flexible="12+",
        key=1,
    )
