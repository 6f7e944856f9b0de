"""Generated from schemas/messages/metadata/00_RegisterBrokerRecord.schema by tools/generate_messages.py: do not edit."""

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


class BrokerEndpoint(WireStruct, gc=False):
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


class BrokerFeature(WireStruct, gc=False):
    name: str = ""
    min_supported_version: int = 0
    max_supported_version: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("MinSupportedVersion", "min_supported_version", "int16", "0+"),
        Field("MaxSupportedVersion", "max_supported_version", "int16", "0+"),
    )


class RegisterBrokerRecord(WireMessage, gc=False):
    """RegisterBrokerRecord: metadata 0, versions 0-4, flexible 0+."""

    broker_id: int = 0
    is_migrating_zk_broker: bool = False
    incarnation_id: bytes = ZERO_UUID
    broker_epoch: int = 0
    end_points: list[BrokerEndpoint] = []
    features: list[BrokerFeature] = []
    rack: str | None = ""
    fenced: bool = True
    in_controlled_shutdown: bool = False
    log_dirs: tuple[bytes, ...] = ()
    cordoned_log_dirs: tuple[bytes, ...] | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "RegisterBrokerRecord",
        "metadata",
        Field("BrokerId", "broker_id", "int32", "0+"),
        Field("IsMigratingZkBroker", "is_migrating_zk_broker", "bool", "2+"),
        Field("IncarnationId", "incarnation_id", "uuid", "0+"),
        Field("BrokerEpoch", "broker_epoch", "int64", "0+"),
        Field("EndPoints", "end_points", BrokerEndpoint, "0+", array=True),
        Field("Features", "features", BrokerFeature, "0+", array=True),
        Field("Rack", "rack", "string", "0+", nullable="0+"),
        Field("Fenced", "fenced", "bool", "0+", default=True),
        Field("InControlledShutdown", "in_controlled_shutdown", "bool", "1+"),
        Field("LogDirs", "log_dirs", "uuid", "3+", array=True, tag=0),
        Field("CordonedLogDirs", "cordoned_log_dirs", "uuid", "4+", array=True, nullable="4+", tag=1, default=None),
        versions="0-4",
        flexible="0+",
        key=0,
    )
