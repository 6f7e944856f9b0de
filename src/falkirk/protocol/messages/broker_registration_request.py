"""Generated from schemas/messages/api/62_BrokerRegistration.schema by tools/generate_messages.py: do not edit."""

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


class BrokerRegistrationRequest(WireMessage, gc=False):
    """BrokerRegistrationRequest: request 62, versions 0-4, flexible 0+."""

    broker_id: int = 0
    cluster_id: str = ""
    incarnation_id: bytes = ZERO_UUID
    listeners: list[Listener] = []
    features: list[Feature] = []
    rack: str | None = ""
    is_migrating_zk_broker: bool = False
    log_dirs: tuple[bytes, ...] = ()
    previous_broker_epoch: int = -1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "BrokerRegistrationRequest",
        "request",
        Field("BrokerId", "broker_id", "int32", "0+"),
        Field("ClusterId", "cluster_id", "string", "0+"),
        Field("IncarnationId", "incarnation_id", "uuid", "0+"),
        Field("Listeners", "listeners", Listener, "0+", array=True),
        Field("Features", "features", Feature, "0+", array=True),
        Field("Rack", "rack", "string", "0+", nullable="0+"),
        Field("IsMigratingZkBroker", "is_migrating_zk_broker", "bool", "1+"),
        Field("LogDirs", "log_dirs", "uuid", "2+", array=True, ignorable=True),
        Field("PreviousBrokerEpoch", "previous_broker_epoch", "int64", "3+", default=-1, ignorable=True),
        versions="0-4",
        flexible="0+",
        key=62,
    )
