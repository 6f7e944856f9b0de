"""Generated from schemas/messages/api/49_AlterClientQuotas.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class EntityData(WireStruct, gc=False):
    entity_type: str = ""
    entity_name: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("EntityType", "entity_type", "string", "0+"),
        Field("EntityName", "entity_name", "string", "0+", nullable="0+"),
    )


class EntryData(WireStruct, gc=False):
    error_code: int = 0
    error_message: str | None = ""
    entity: list[EntityData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
        Field("Entity", "entity", EntityData, "0+", array=True),
    )


class AlterClientQuotasResponse(WireMessage, gc=False):
    """AlterClientQuotasResponse: response 49, versions 0-1, flexible 1+."""

    throttle_time_ms: int = 0
    entries: list[EntryData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AlterClientQuotasResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("Entries", "entries", EntryData, "0+", array=True),
        versions="0-1",
        flexible="1+",
        key=49,
    )
