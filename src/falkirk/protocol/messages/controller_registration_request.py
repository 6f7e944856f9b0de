"""Generated from schemas/messages/api/70_ControllerRegistration.schema by tools/generate_messages.py: do not edit."""

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


class Listener(WireStruct, gc=False):
    name: str = ""
    host: str = ""
    port: int = 0
    security_protocol: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Host", "host", "string", "0+"),
        Field("Port", "port", "uint16", "0+"),
        Field("SecurityProtocol", "security_protocol", "int16", "0+"),
    )


class Feature(WireStruct, gc=False):
    name: str = ""
    min_supported_version: int = 0
    max_supported_version: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("MinSupportedVersion", "min_supported_version", "int16", "0+"),
        Field("MaxSupportedVersion", "max_supported_version", "int16", "0+"),
    )


class ControllerRegistrationRequest(WireMessage, gc=False):
    """ControllerRegistrationRequest: request 70, versions 0, flexible 0+."""

    controller_id: int = 0
    incarnation_id: bytes = ZERO_UUID
    zk_migration_ready: bool = False
    listeners: list[Listener] = []
    features: list[Feature] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ControllerRegistrationRequest",
        "request",
        Field("ControllerId", "controller_id", "int32", "0+"),
        Field("IncarnationId", "incarnation_id", "uuid", "0+"),
        Field("ZkMigrationReady", "zk_migration_ready", "bool", "0+"),
        Field("Listeners", "listeners", Listener, "0+", array=True),
        Field("Features", "features", Feature, "0+", array=True),
        versions="0",
        flexible="0+",
        key=70,
    )
