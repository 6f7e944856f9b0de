"""Generated from schemas/messages/api/28_TxnOffsetCommit.schema by tools/generate_messages.py: do not edit."""

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


class TxnOffsetCommitRequestPartition(WireStruct, gc=False):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    committed_metadata: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("CommittedOffset", "committed_offset", "int64", "0+"),
        Field("CommittedLeaderEpoch", "committed_leader_epoch", "int32", "2+", default=-1, ignorable=True),
        Field("CommittedMetadata", "committed_metadata", "string", "0+", nullable="0+"),
    )


class TxnOffsetCommitRequestTopic(WireStruct, gc=False):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[TxnOffsetCommitRequestPartition] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0-5", ignorable=True),
        Field("TopicId", "topic_id", "uuid", "6+", ignorable=True),
        Field("Partitions", "partitions", TxnOffsetCommitRequestPartition, "0+", array=True),
    )


class TxnOffsetCommitRequest(WireMessage, gc=False):
    """TxnOffsetCommitRequest: request 28, versions 0-6, flexible 3+."""

    transactional_id: str = ""
    group_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    generation_id_or_member_epoch: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    topics: list[TxnOffsetCommitRequestTopic] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "TxnOffsetCommitRequest",
        "request",
        Field("TransactionalId", "transactional_id", "string", "0+"),
        Field("GroupId", "group_id", "string", "0+"),
        Field("ProducerId", "producer_id", "int64", "0+"),
        Field("ProducerEpoch", "producer_epoch", "int16", "0+"),
        Field(
            "GenerationIdOrMemberEpoch",
            "generation_id_or_member_epoch",
            "int32",
            "3+",
            default=-1,
            old_names={0: "GenerationId"},
        ),
        Field("MemberId", "member_id", "string", "3+"),
        Field("GroupInstanceId", "group_instance_id", "string", "3+", nullable="3+", default=None),
        Field("Topics", "topics", TxnOffsetCommitRequestTopic, "0+", array=True),
        versions="0-6",
        flexible="3+",
        key=28,
        layouts=2,
    )
