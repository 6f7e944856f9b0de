"""Generated from schemas/messages/metadata/24_EndTransactionRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import MessageSchema, UnknownTaggedFields, WireMessage


class EndTransactionRecord(WireMessage, gc=False):
    """EndTransactionRecord: metadata 24, versions 0, flexible 0+."""

    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "EndTransactionRecord",
        "metadata",
        versions="0",
        flexible="0+",
        key=24,
    )
