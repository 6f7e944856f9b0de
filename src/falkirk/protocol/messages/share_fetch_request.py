"""Generated from schemas/messages/api/78_ShareFetch.schema by tools/generate_messages.py: do not edit."""

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


class FetchPartition(WireStruct, gc=False):
    partition_index: int = 0
    partition_max_bytes: int = 0
    acknowledgement_batches: list[AcknowledgementBatch] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("PartitionMaxBytes", "partition_max_bytes", "int32", "0"),
        Field("AcknowledgementBatches", "acknowledgement_batches", AcknowledgementBatch, "0+", array=True),
    )


class FetchTopic(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[FetchPartition] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Partitions", "partitions", FetchPartition, "0+", array=True),
    )


class ForgottenTopic(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Partitions", "partitions", "int32", "0+", array=True),
    )


class ShareFetchRequest(WireMessage, gc=False):
    """ShareFetchRequest: request 78, versions 0-2, flexible 0+."""

    group_id: str | None = None
    member_id: str | None = ""
    share_session_epoch: int = 0
    max_wait_ms: int = 0
    min_bytes: int = 0
    max_bytes: int = 2147483647
    max_records: int = 0
    batch_size: int = 0
    share_acquire_mode: int = 0
    is_renew_ack: bool = False
    topics: list[FetchTopic] = []
    forgotten_topics_data: list[ForgottenTopic] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareFetchRequest",
        "request",
        Field("GroupId", "group_id", "string", "0+", nullable="0+", default=None),
        Field("MemberId", "member_id", "string", "0+", nullable="0+"),
        Field("ShareSessionEpoch", "share_session_epoch", "int32", "0+"),
        Field("MaxWaitMs", "max_wait_ms", "int32", "0+"),
        Field("MinBytes", "min_bytes", "int32", "0+"),
        Field("MaxBytes", "max_bytes", "int32", "0+", default=2147483647),
        Field("MaxRecords", "max_records", "int32", "1+"),
        Field("BatchSize", "batch_size", "int32", "1+"),
        Field("ShareAcquireMode", "share_acquire_mode", "int8", "2+", ignorable=True),
        Field("IsRenewAck", "is_renew_ack", "bool", "2+"),
        Field("Topics", "topics", FetchTopic, "0+", array=True),
        Field("ForgottenTopicsData", "forgotten_topics_data", ForgottenTopic, "0+", array=True),
        versions="0-2",
        flexible="0+",
        key=78,
    )
