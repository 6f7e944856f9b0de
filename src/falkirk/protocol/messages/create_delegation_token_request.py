"""Generated from schemas/messages/api/38_CreateDelegationToken.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class CreatableRenewers(WireStruct, gc=False):
    principal_type: str = ""
    principal_name: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PrincipalType", "principal_type", "string", "0+"),
        Field("PrincipalName", "principal_name", "string", "0+"),
    )


class CreateDelegationTokenRequest(WireMessage, gc=False):
    """CreateDelegationTokenRequest: request 38, versions 0-3, flexible 2+."""

    owner_principal_type: str | None = ""
    owner_principal_name: str | None = ""
    renewers: list[CreatableRenewers] = []
    max_lifetime_ms: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "CreateDelegationTokenRequest",
        "request",
        Field("OwnerPrincipalType", "owner_principal_type", "string", "3+", nullable="3+"),
        Field("OwnerPrincipalName", "owner_principal_name", "string", "3+", nullable="3+"),
        Field("Renewers", "renewers", CreatableRenewers, "0+", array=True),
        Field("MaxLifetimeMs", "max_lifetime_ms", "int64", "0+"),
        versions="0-3",
        flexible="2+",
        key=38,
    )
