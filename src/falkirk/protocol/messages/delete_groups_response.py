"""Generated from schemas/messages/api/42_DeleteGroups.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class DeletableGroupResult(WireStruct, gc=False):
    group_id: str = ""
    error_code: int = 0
    error_message: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("GroupId", "group_id", "string", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "3+", nullable="3+", default=None, ignorable=True),
    )


class DeleteGroupsResponse(WireMessage, gc=False):
    """DeleteGroupsResponse: response 42, versions 0-3, flexible 2+."""

    throttle_time_ms: int = 0
    results: list[DeletableGroupResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DeleteGroupsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("Results", "results", DeletableGroupResult, "0+", array=True),
        versions="0-3",
        flexible="2+",
        key=42,
    )
