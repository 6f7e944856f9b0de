"""Generated from schemas/messages/api/06_UpdateMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class UpdateMetadataResponse(WireMessage, gc=False):
    """UpdateMetadataResponse: response 6, versions 0-8, flexible 6+."""

    error_code: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "UpdateMetadataResponse",
        "response",
        Field("ErrorCode", "error_code", "int16", "0+"),
        versions="0-8",
        flexible="6+",
        key=6,
    )
