"""Generated from schemas/messages/metadata/14_ClientQuotaRecord.schema by tools/generate_messages.py: do not edit."""

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


class ClientQuotaRecord(WireMessage, gc=False):
    """ClientQuotaRecord: metadata 14, versions 0, flexible 0+."""

    entity: list[EntityData] = []
    key: str = ""
    value: float = 0.0
    remove: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ClientQuotaRecord",
        "metadata",
        Field("Entity", "entity", EntityData, "0+", array=True),
        Field("Key", "key", "string", "0+"),
        Field("Value", "value", "float64", "0+"),
        Field("Remove", "remove", "bool", "0+"),
        versions="0",
        flexible="0+",
        key=14,
    )
