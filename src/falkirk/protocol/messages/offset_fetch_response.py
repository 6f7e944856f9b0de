"""Generated from schemas/messages/api/09_OffsetFetch.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import (
    ZERO_UUID,
    Field,
    MessageSchema,
    StructSchema,
    UnknownTaggedFields,
    WireMessage,
    WireStruct,
)


class OffsetFetchResponsePartition(WireStruct, gc=False):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    metadata: str | None = ""
    error_code: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0-7"),
        Field("CommittedOffset", "committed_offset", "int64", "0-7"),
        Field("CommittedLeaderEpoch", "committed_leader_epoch", "int32", "5-7", default=-1, ignorable=True),
        Field("Metadata", "metadata", "string", "0-7", nullable="0-7"),
        Field("ErrorCode", "error_code", "int16", "0-7"),
    )


class OffsetFetchResponseTopic(WireStruct, gc=False):
    name: str = ""
    partitions: list[OffsetFetchResponsePartition] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0-7"),
        Field("Partitions", "partitions", OffsetFetchResponsePartition, "0-7", array=True),
    )


class OffsetFetchResponsePartitions(WireStruct, gc=False):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    metadata: str | None = ""
    error_code: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "8+"),
        Field("CommittedOffset", "committed_offset", "int64", "8+"),
        Field("CommittedLeaderEpoch", "committed_leader_epoch", "int32", "8+", default=-1),
        Field("Metadata", "metadata", "string", "8+", nullable="8+"),
        Field("ErrorCode", "error_code", "int16", "8+"),
    )


class OffsetFetchResponseTopics(WireStruct, gc=False):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[OffsetFetchResponsePartitions] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "8-9", ignorable=True),
        Field("TopicId", "topic_id", "uuid", "10+", ignorable=True),
        Field("Partitions", "partitions", OffsetFetchResponsePartitions, "8+", array=True),
    )


class OffsetFetchResponseGroup(WireStruct, gc=False):
    group_id: str = ""
    topics: list[OffsetFetchResponseTopics] = []
    error_code: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("GroupId", "group_id", "string", "8+"),
        Field("Topics", "topics", OffsetFetchResponseTopics, "8+", array=True),
        Field("ErrorCode", "error_code", "int16", "8+"),
    )


class OffsetFetchResponse(WireMessage, gc=False):
    """OffsetFetchResponse: response 9, versions 0-10, flexible 6+."""

    throttle_time_ms: int = 0
    topics: list[OffsetFetchResponseTopic] = []
    error_code: int = 0
    groups: list[OffsetFetchResponseGroup] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "OffsetFetchResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "3+", ignorable=True),
        Field("Topics", "topics", OffsetFetchResponseTopic, "0-7", array=True),
        Field("ErrorCode", "error_code", "int16", "2-7", ignorable=True),
        Field("Groups", "groups", OffsetFetchResponseGroup, "8+", array=True),
        versions="0-10",
        flexible="6+",
        key=9,
    )
