"""Generated from schemas/messages/metadata/19_RemoveAccessControlEntryRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import ZERO_UUID, Field, MessageSchema, UnknownTaggedFields, WireMessage


class RemoveAccessControlEntryRecord(WireMessage, gc=False):
    """RemoveAccessControlEntryRecord: metadata 19, versions 0, flexible 0+."""

    id: bytes = ZERO_UUID
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "RemoveAccessControlEntryRecord",
        "metadata",
        Field("Id", "id", "uuid", "0+"),
        versions="0",
        flexible="0+",
        key=19,
    )
