"""Generated from schemas/messages/metadata/20_NoOpRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import MessageSchema, UnknownTaggedFields, WireMessage


class NoOpRecord(WireMessage, gc=False):
    """NoOpRecord: metadata 20, versions 0, flexible 0+."""

    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "NoOpRecord",
        "metadata",
        versions="0",
        flexible="0+",
        key=20,
    )
