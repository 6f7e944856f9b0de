"""Generated from schemas/messages/metadata/23_BeginTransactionRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class BeginTransactionRecord(WireMessage, gc=False):
    """BeginTransactionRecord: metadata 23, versions 0, flexible 0+."""

    name: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "BeginTransactionRecord",
        "metadata",
        Field("Name", "name", "string", "0+", nullable="0+", tag=0, default=None),
        versions="0",
        flexible="0+",
        key=23,
    )
