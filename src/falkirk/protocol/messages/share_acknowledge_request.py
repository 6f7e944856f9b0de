"""Generated from schemas/messages/api/79_ShareAcknowledge.schema by tools/generate_messages.py: do not edit."""

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


class AcknowledgementBatch(WireStruct, gc=False):
    first_offset: int = 0
    last_offset: int = 0
    acknowledge_types: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("FirstOffset", "first_offset", "int64", "0+"),
        Field("LastOffset", "last_offset", "int64", "0+"),
        Field("AcknowledgeTypes", "acknowledge_types", "int8", "0+", array=True),
    )


class AcknowledgePartition(WireStruct, gc=False):
    partition_index: int = 0
    acknowledgement_batches: list[AcknowledgementBatch] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("AcknowledgementBatches", "acknowledgement_batches", AcknowledgementBatch, "0+", array=True),
    )


class AcknowledgeTopic(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[AcknowledgePartition] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Partitions", "partitions", AcknowledgePartition, "0+", array=True),
    )


class ShareAcknowledgeRequest(WireMessage, gc=False):
    """ShareAcknowledgeRequest: request 79, versions 0-2, flexible 0+."""

    group_id: str | None = None
    member_id: str | None = ""
    share_session_epoch: int = 0
    is_renew_ack: bool = False
    topics: list[AcknowledgeTopic] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareAcknowledgeRequest",
        "request",
        Field("GroupId", "group_id", "string", "0+", nullable="0+", default=None),
        Field("MemberId", "member_id", "string", "0+", nullable="0+"),
        Field("ShareSessionEpoch", "share_session_epoch", "int32", "0+"),
        Field("IsRenewAck", "is_renew_ack", "bool", "2+"),
        Field("Topics", "topics", AcknowledgeTopic, "0+", array=True),
        versions="0-2",
        flexible="0+",
        key=79,
    )
