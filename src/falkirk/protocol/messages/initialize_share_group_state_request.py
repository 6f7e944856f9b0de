"""Generated from schemas/messages/api/83_InitializeShareGroupState.schema by tools/generate_messages.py: do not edit."""

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
    state_epoch: int = 0
    start_offset: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Partition", "partition", "int32", "0+"),
        Field("StateEpoch", "state_epoch", "int32", "0+"),
        Field("StartOffset", "start_offset", "int64", "0+"),
    )


class InitializeStateData(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Partitions", "partitions", PartitionData, "0+", array=True),
    )


class InitializeShareGroupStateRequest(WireMessage, gc=False):
    """InitializeShareGroupStateRequest: request 83, versions 0, flexible 0+."""

    group_id: str = ""
    topics: list[InitializeStateData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "InitializeShareGroupStateRequest",
        "request",
        Field("GroupId", "group_id", "string", "0+"),
        Field("Topics", "topics", InitializeStateData, "0+", array=True),
        versions="0",
        flexible="0+",
        key=83,
    )
