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


class OpData(WireStruct, gc=False):
    key: str = ""
    value: float = 0.0
    remove: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Key", "key", "string", "0+"),
        Field("Value", "value", "float64", "0+"),
        Field("Remove", "remove", "bool", "0+"),
    )


class EntryData(WireStruct, gc=False):
    entity: list[EntityData] = []
    ops: list[OpData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Entity", "entity", EntityData, "0+", array=True),
        Field("Ops", "ops", OpData, "0+", array=True),
    )


class AlterClientQuotasRequest(WireMessage, gc=False):
    """AlterClientQuotasRequest: request 49, versions 0-1, flexible 1+."""

    entries: list[EntryData] = []
    validate_only: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AlterClientQuotasRequest",
        "request",
        Field("Entries", "entries", EntryData, "0+", array=True),
        Field("ValidateOnly", "validate_only", "bool", "0+"),
        versions="0-1",
        flexible="1+",
        key=49,
    )
