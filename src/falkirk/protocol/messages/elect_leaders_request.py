"""Generated from schemas/messages/api/43_ElectLeaders.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class TopicPartitions(WireStruct, gc=False):
    topic: str = ""
    partitions: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Topic", "topic", "string", "0+"),
        Field("Partitions", "partitions", "int32", "0+", array=True),
    )


class ElectLeadersRequest(WireMessage, gc=False):
    """ElectLeadersRequest: request 43, versions 0-2, flexible 2+."""

    election_type: int = 0
    topic_partitions: list[TopicPartitions] | None = []
    timeout_ms: int = 60000
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ElectLeadersRequest",
        "request",
        Field("ElectionType", "election_type", "int8", "1+"),
        Field("TopicPartitions", "topic_partitions", TopicPartitions, "0+", array=True, nullable="0+"),
        Field("TimeoutMs", "timeout_ms", "int32", "0+", default=60000),
        versions="0-2",
        flexible="2+",
        key=43,
    )
