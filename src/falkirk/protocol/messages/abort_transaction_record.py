"""Generated from schemas/messages/metadata/25_AbortTransactionRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class AbortTransactionRecord(WireMessage, gc=False):
    """AbortTransactionRecord: metadata 25, versions 0, flexible 0+."""

    reason: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AbortTransactionRecord",
        "metadata",
        Field("Reason", "reason", "string", "0+", nullable="0+", tag=0, default=None),
        versions="0",
        flexible="0+",
        key=25,
    )
