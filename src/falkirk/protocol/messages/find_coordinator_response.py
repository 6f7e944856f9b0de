"""Generated from schemas/messages/api/10_FindCoordinator.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class Coordinator(WireStruct, gc=False):
    key: str = ""
    node_id: int = 0
    host: str = ""
    port: int = 0
    error_code: int = 0
    error_message: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Key", "key", "string", "4+"),
        Field("NodeId", "node_id", "int32", "4+"),
        Field("Host", "host", "string", "4+"),
        Field("Port", "port", "int32", "4+"),
        Field("ErrorCode", "error_code", "int16", "4+"),
        Field("ErrorMessage", "error_message", "string", "4+", nullable="4+"),
    )


class FindCoordinatorResponse(WireMessage, gc=False):
    """FindCoordinatorResponse: response 10, versions 0-6, flexible 3+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    node_id: int = 0
    host: str = ""
    port: int = 0
    coordinators: list[Coordinator] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "FindCoordinatorResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "1+", ignorable=True),
        Field("ErrorCode", "error_code", "int16", "0-3"),
        Field("ErrorMessage", "error_message", "string", "1-3", nullable="1-3", ignorable=True),
        Field("NodeId", "node_id", "int32", "0-3"),
        Field("Host", "host", "string", "0-3"),
        Field("Port", "port", "int32", "0-3"),
        Field("Coordinators", "coordinators", Coordinator, "4+", array=True),
        versions="0-6",
        flexible="3+",
        key=10,
    )
