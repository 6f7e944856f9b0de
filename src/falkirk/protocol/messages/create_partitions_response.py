"""Generated from schemas/messages/api/37_CreatePartitions.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class CreatePartitionsTopicResult(WireStruct, gc=False):
    name: str = ""
    error_code: int = 0
    error_message: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+", default=None),
    )


class CreatePartitionsResponse(WireMessage, gc=False):
    """CreatePartitionsResponse: response 37, versions 0-3, flexible 2+."""

    throttle_time_ms: int = 0
    results: list[CreatePartitionsTopicResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "CreatePartitionsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("Results", "results", CreatePartitionsTopicResult, "0+", array=True),
        versions="0-3",
        flexible="2+",
        key=37,
    )
