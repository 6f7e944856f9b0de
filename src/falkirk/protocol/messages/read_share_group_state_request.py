"""Generated from schemas/messages/api/84_ReadShareGroupState.schema by tools/generate_messages.py: do not edit."""

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


class ReadStateData(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Partitions", "partitions", PartitionData, "0+", array=True),
    )


class ReadShareGroupStateRequest(WireMessage, gc=False):
    """ReadShareGroupStateRequest: request 84, versions 0, flexible 0+."""

    group_id: str = ""
    topics: list[ReadStateData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ReadShareGroupStateRequest",
        "request",
        Field("GroupId", "group_id", "string", "0+"),
        Field("Topics", "topics", ReadStateData, "0+", array=True),
        versions="0",
        flexible="0+",
        key=84,
    )
