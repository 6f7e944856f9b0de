"""Generated from schemas/messages/api/20_DeleteTopics.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import (
    ZERO_UUID,
    Field,
    MessageSchema,
    StructSchema,
    UnknownTaggedFields,
    WireMessage,
    WireStruct,
)


class DeletableTopicResult(WireStruct, gc=False):
    name: str | None = ""
    topic_id: bytes = ZERO_UUID
    error_code: int = 0
    error_message: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+", nullable="6+"),
        Field("TopicId", "topic_id", "uuid", "6+", ignorable=True),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "5+", nullable="5+", default=None, ignorable=True),
    )


class DeleteTopicsResponse(WireMessage, gc=False):
    """DeleteTopicsResponse: response 20, versions 0-6, flexible 4+."""

    throttle_time_ms: int = 0
    responses: list[DeletableTopicResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DeleteTopicsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "1+", ignorable=True),
        Field("Responses", "responses", DeletableTopicResult, "0+", array=True),
        versions="0-6",
        flexible="4+",
        key=20,
    )
