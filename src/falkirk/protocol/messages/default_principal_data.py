"""Generated from schemas/messages/data/DefaultPrincipalData.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class DefaultPrincipalData(WireMessage, gc=False):
    """DefaultPrincipalData: data, versions 0, flexible 0+."""

    type: str = ""
    name: str = ""
    token_authenticated: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DefaultPrincipalData",
        "data",
        Field("Type", "type", "string", "0+"),
        Field("Name", "name", "string", "0+"),
        Field("TokenAuthenticated", "token_authenticated", "bool", "0+"),
        versions="0",
        flexible="0+",
    )
