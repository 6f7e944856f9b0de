"""Generated from schemas/messages/data/ControlRecordTypeSchema.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class ControlRecordTypeSchema(WireMessage, gc=False):
    """ControlRecordTypeSchema: data, versions 0, flexible none."""

    type: int = 0

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ControlRecordTypeSchema",
        "data",
        Field("Type", "type", "int16", "0+"),
        versions="0",
        flexible="none",
    )
