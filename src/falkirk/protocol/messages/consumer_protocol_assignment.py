"""Generated from schemas/messages/data/ConsumerProtocolAssignment.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, WireMessage, WireStruct


class TopicPartition(WireStruct, gc=False):
    topic: str = ""
    partitions: tuple[int, ...] = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Topic", "topic", "string", "0+"),
        Field("Partitions", "partitions", "int32", "0+", array=True),
    )


class ConsumerProtocolAssignment(WireMessage, gc=False):
    """ConsumerProtocolAssignment: data, versions 0-3, flexible none."""

    assigned_partitions: list[TopicPartition] = []
    user_data: bytes | None = None

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ConsumerProtocolAssignment",
        "data",
        Field("AssignedPartitions", "assigned_partitions", TopicPartition, "0+", array=True),
        Field("UserData", "user_data", "bytes", "0+", nullable="0+", default=None),
        versions="0-3",
        flexible="none",
    )
