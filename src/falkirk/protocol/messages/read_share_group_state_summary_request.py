"""Generated from schemas/messages/api/87_ReadShareGroupStateSummary.schema by tools/generate_messages.py: do not edit."""

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


class PartitionData(WireStruct, gc=False):
    partition: int = 0
    leader_epoch: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Partition", "partition", "int32", "0+"),
        Field("LeaderEpoch", "leader_epoch", "int32", "0+"),
    )


class ReadStateSummaryData(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Partitions", "partitions", PartitionData, "0+", array=True),
    )


class ReadShareGroupStateSummaryRequest(WireMessage, gc=False):
    """ReadShareGroupStateSummaryRequest: request 87, versions 0-1, flexible 0+."""

    group_id: str = ""
    topics: list[ReadStateSummaryData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ReadShareGroupStateSummaryRequest",
        "request",
        Field("GroupId", "group_id", "string", "0+"),
        Field("Topics", "topics", ReadStateSummaryData, "0+", array=True),
        versions="0-1",
        flexible="0+",
        key=87,
    )
