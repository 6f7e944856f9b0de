"""Generated from schemas/messages/api/00_Produce.schema by tools/generate_messages.py: do not edit."""

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


class PartitionProduceData(WireStruct, gc=False):
    index: int = 0
    records: bytes | memoryview | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Index", "index", "int32", "0+"),
        Field("Records", "records", "records", "0+", nullable="0+"),
    )


class TopicProduceData(WireStruct, gc=False):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partition_data: list[PartitionProduceData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0-12", ignorable=True),
        Field("TopicId", "topic_id", "uuid", "13+", ignorable=True),
        Field("PartitionData", "partition_data", PartitionProduceData, "0+", array=True),
    )


class ProduceRequest(WireMessage, gc=False):
    """ProduceRequest: request 0, versions 0-13, flexible 9+."""

    transactional_id: str | None = None
    acks: int = 0
    timeout_ms: int = 0
    topic_data: list[TopicProduceData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ProduceRequest",
        "request",
        Field("TransactionalId", "transactional_id", "string", "3+", nullable="3+", default=None),
        Field("Acks", "acks", "int16", "0+"),
        Field("TimeoutMs", "timeout_ms", "int32", "0+"),
        Field("TopicData", "topic_data", TopicProduceData, "0+", array=True),
        versions="0-13",
        flexible="9+",
        key=0,
    )
