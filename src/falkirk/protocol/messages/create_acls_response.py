"""Generated from schemas/messages/api/30_CreateAcls.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class AclCreationResult(WireStruct, gc=False):
    error_code: int = 0
    error_message: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
    )


class CreateAclsResponse(WireMessage, gc=False):
    """CreateAclsResponse: response 30, versions 0-3, flexible 2+."""

    throttle_time_ms: int = 0
    results: list[AclCreationResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "CreateAclsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("Results", "results", AclCreationResult, "0+", array=True),
        versions="0-3",
        flexible="2+",
        key=30,
    )
