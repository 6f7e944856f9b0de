"""Generated from schemas/messages/metadata/22_RemoveUserScramCredentialRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class RemoveUserScramCredentialRecord(WireMessage, gc=False):
    """RemoveUserScramCredentialRecord: metadata 22, versions 0, flexible 0+."""

    name: str = ""
    mechanism: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "RemoveUserScramCredentialRecord",
        "metadata",
        Field("Name", "name", "string", "0+"),
        Field("Mechanism", "mechanism", "int8", "0+"),
        versions="0",
        flexible="0+",
        key=22,
    )
