"""Generated from schemas/messages/api/25_AddOffsetsToTxn.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class AddOffsetsToTxnResponse(WireMessage, gc=False):
    """AddOffsetsToTxnResponse: response 25, versions 0-4, flexible 3+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AddOffsetsToTxnResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        versions="0-4",
        flexible="3+",
        key=25,
    )
