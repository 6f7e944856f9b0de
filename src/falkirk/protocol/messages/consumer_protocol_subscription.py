"""Generated from schemas/messages/data/ConsumerProtocolSubscription.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, WireMessage, WireStruct


class TopicPartition(WireStruct, gc=False):
    topic: str = ""
    partitions: tuple[int, ...] = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Topic", "topic", "string", "1+"),
        Field("Partitions", "partitions", "int32", "1+", array=True),
    )


class ConsumerProtocolSubscription(WireMessage, gc=False):
    """ConsumerProtocolSubscription: data, versions 0-3, flexible none."""

    topics: tuple[str, ...] = ()
    user_data: bytes | None = None
    owned_partitions: list[TopicPartition] = []
    generation_id: int = -1
    rack_id: str | None = None

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ConsumerProtocolSubscription",
        "data",
        Field("Topics", "topics", "string", "0+", array=True),
        Field("UserData", "user_data", "bytes", "0+", nullable="0+", default=None),
        Field("OwnedPartitions", "owned_partitions", TopicPartition, "1+", array=True, ignorable=True),
        Field("GenerationId", "generation_id", "int32", "2+", default=-1, ignorable=True),
        Field("RackId", "rack_id", "string", "3+", nullable="3+", default=None, ignorable=True),
        versions="0-3",
        flexible="none",
    )
