"""Generated from schemas/messages/api/48_DescribeClientQuotas.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class ComponentData(WireStruct, gc=False):
    entity_type: str = ""
    match_type: int = 0
    match: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("EntityType", "entity_type", "string", "0+"),
        Field("MatchType", "match_type", "int8", "0+"),
        Field("Match", "match", "string", "0+", nullable="0+"),
    )


class DescribeClientQuotasRequest(WireMessage, gc=False):
    """DescribeClientQuotasRequest: request 48, versions 0-1, flexible 1+."""

    components: list[ComponentData] = []
    strict: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeClientQuotasRequest",
        "request",
        Field("Components", "components", ComponentData, "0+", array=True),
        Field("Strict", "strict", "bool", "0+"),
        versions="0-1",
        flexible="1+",
        key=48,
    )
