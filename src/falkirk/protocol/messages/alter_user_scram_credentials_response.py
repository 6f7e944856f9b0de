"""Generated from schemas/messages/api/51_AlterUserScramCredentials.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class AlterUserScramCredentialsResult(WireStruct, gc=False):
    user: str = ""
    error_code: int = 0
    error_message: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("User", "user", "string", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
    )


class AlterUserScramCredentialsResponse(WireMessage, gc=False):
    """AlterUserScramCredentialsResponse: response 51, versions 0, flexible 0+."""

    throttle_time_ms: int = 0
    results: list[AlterUserScramCredentialsResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AlterUserScramCredentialsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("Results", "results", AlterUserScramCredentialsResult, "0+", array=True),
        versions="0",
        flexible="0+",
        key=51,
    )
