"""Generated from schemas/messages/group_coordinator/16_ConsumerGroupRegularExpression.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ConsumerGroupRegularExpressionValue(WireMessage, gc=False):
    """ConsumerGroupRegularExpressionValue: coordinator-value 16, versions 0, flexible 0+."""

    topics: tuple[str, ...] = ()
    version: int = 0
    timestamp: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ConsumerGroupRegularExpressionValue",
        "coordinator-value",
        Field("Topics", "topics", "string", "0+", array=True),
        Field("Version", "version", "int64", "0+"),
        Field("Timestamp", "timestamp", "int64", "0+"),
        versions="0",
        flexible="0+",
        key=16,
    )
