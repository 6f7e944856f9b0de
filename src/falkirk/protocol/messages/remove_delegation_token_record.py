"""Generated from schemas/messages/metadata/26_RemoveDelegationTokenRecord.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class RemoveDelegationTokenRecord(WireMessage, gc=False):
    """RemoveDelegationTokenRecord: metadata 26, versions 0, flexible 0+."""

    token_id: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "RemoveDelegationTokenRecord",
        "metadata",
        Field("TokenId", "token_id", "string", "0+"),
        versions="0",
        flexible="0+",
        key=26,
    )
