"""Generated from schemas/messages/data/SnapshotFooterRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class SnapshotFooterRecord(WireMessage, gc=False):
    """SnapshotFooterRecord: data, versions 0, flexible 0+."""

    version: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "SnapshotFooterRecord",
        "data",
        Field("Version", "version", "int16", "0+"),
        versions="0",
        flexible="0+",
    )
