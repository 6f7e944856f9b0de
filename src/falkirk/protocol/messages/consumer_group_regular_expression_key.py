"""Generated from schemas/messages/group_coordinator/16_ConsumerGroupRegularExpression.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class ConsumerGroupRegularExpressionKey(WireMessage, gc=False):
    """ConsumerGroupRegularExpressionKey: coordinator-key 16, versions 0,16, flexible none."""

    group_id: str = ""
    regular_expression: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ConsumerGroupRegularExpressionKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "0+"),
        Field("RegularExpression", "regular_expression", "string", "0+"),
        versions="0,16",
        flexible="none",
        key=16,
    )
