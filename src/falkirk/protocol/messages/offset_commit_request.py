"""Generated from schemas/messages/api/08_OffsetCommit.schema by tools/generate_messages.py: do not edit."""

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


class OffsetCommitRequestPartition(WireStruct, gc=False):
    partition_index: int = 0
    committed_offset: int = 0
    commit_timestamp: int = -1
    committed_leader_epoch: int = -1
    committed_metadata: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("CommittedOffset", "committed_offset", "int64", "0+"),
        Field("CommitTimestamp", "commit_timestamp", "int64", "1", default=-1),
        Field("CommittedLeaderEpoch", "committed_leader_epoch", "int32", "6+", default=-1, ignorable=True),
        Field("CommittedMetadata", "committed_metadata", "string", "0+", nullable="0+"),
    )


class OffsetCommitRequestTopic(WireStruct, gc=False):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[OffsetCommitRequestPartition] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0-9", ignorable=True),
        Field("TopicId", "topic_id", "uuid", "10+", ignorable=True),
        Field("Partitions", "partitions", OffsetCommitRequestPartition, "0+", array=True),
    )


class OffsetCommitRequest(WireMessage, gc=False):
    """OffsetCommitRequest: request 8, versions 0-10, flexible 8+."""

    group_id: str = ""
    generation_id_or_member_epoch: int = -1
    member_id: str = ""
    retention_time_ms: int = -1
    group_instance_id: str | None = None
    topics: list[OffsetCommitRequestTopic] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "OffsetCommitRequest",
        "request",
        Field("GroupId", "group_id", "string", "0+"),
        Field("GenerationIdOrMemberEpoch", "generation_id_or_member_epoch", "int32", "1+", default=-1, ignorable=True),
        Field("MemberId", "member_id", "string", "1+", ignorable=True),
        Field("RetentionTimeMs", "retention_time_ms", "int64", "2-4", default=-1, ignorable=True),
        Field("GroupInstanceId", "group_instance_id", "string", "7+", nullable="7+", default=None),
        Field("Topics", "topics", OffsetCommitRequestTopic, "0+", array=True),
        versions="0-10",
        flexible="8+",
        key=8,
    )
