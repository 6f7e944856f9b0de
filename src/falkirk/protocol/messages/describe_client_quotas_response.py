"""Generated from schemas/messages/api/48_DescribeClientQuotas.schema by tools/generate_messages.py: do not edit."""

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


class ValueData(WireStruct, gc=False):
    key: str = ""
    value: float = 0.0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Key", "key", "string", "0+"),
        Field("Value", "value", "float64", "0+"),
    )


class EntryData(WireStruct, gc=False):
    entity: list[EntityData] = []
    values: list[ValueData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Entity", "entity", EntityData, "0+", array=True),
        Field("Values", "values", ValueData, "0+", array=True),
    )


class DescribeClientQuotasResponse(WireMessage, gc=False):
    """DescribeClientQuotasResponse: response 48, versions 0-1, flexible 1+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    entries: list[EntryData] | None = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeClientQuotasResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
        Field("Entries", "entries", EntryData, "0+", array=True, nullable="0+"),
        versions="0-1",
        flexible="1+",
        key=48,
    )
