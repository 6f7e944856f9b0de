"""Generated from schemas/messages/group_coordinator/05_ConsumerGroupMemberMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class Assignor(WireStruct, gc=False):
    name: str = ""
    minimum_version: int = 0
    maximum_version: int = 0
    reason: int = 0
    version: int = 0
    metadata: bytes = b""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("MinimumVersion", "minimum_version", "int16", "0+"),
        Field("MaximumVersion", "maximum_version", "int16", "0+"),
        Field("Reason", "reason", "int8", "0+"),
        Field("Version", "version", "int16", "0+"),
        Field("Metadata", "metadata", "bytes", "0+"),
    )


class ClassicProtocol(WireStruct, gc=False):
    name: str = ""
    metadata: bytes = b""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Metadata", "metadata", "bytes", "0+"),
    )


class ClassicMemberMetadata(WireStruct, gc=False):
    session_timeout_ms: int = 0
    supported_protocols: list[ClassicProtocol] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("SessionTimeoutMs", "session_timeout_ms", "int32", "0+"),
        Field("SupportedProtocols", "supported_protocols", ClassicProtocol, "0+", array=True),
    )


class ConsumerGroupMemberMetadataValue(WireMessage, gc=False):
    """ConsumerGroupMemberMetadataValue: coordinator-value 5, versions 0, flexible 0+."""

    instance_id: str | None = ""
    rack_id: str | None = ""
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: tuple[str, ...] = ()
    subscribed_topic_regex: str | None = ""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = ""
    assignors: list[Assignor] = []
    classic_member_metadata: ClassicMemberMetadata | None = msgspec.field(default_factory=ClassicMemberMetadata)
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ConsumerGroupMemberMetadataValue",
        "coordinator-value",
        Field("InstanceId", "instance_id", "string", "0+", nullable="0+"),
        Field("RackId", "rack_id", "string", "0+", nullable="0+"),
        Field("ClientId", "client_id", "string", "0+"),
        Field("ClientHost", "client_host", "string", "0+"),
        Field("SubscribedTopicNames", "subscribed_topic_names", "string", "0+", array=True),
        Field("SubscribedTopicRegex", "subscribed_topic_regex", "string", "0+", nullable="0+"),
        Field("RebalanceTimeoutMs", "rebalance_timeout_ms", "int32", "0+", default=-1),
        Field("ServerAssignor", "server_assignor", "string", "0+", nullable="0+"),
        Field("Assignors", "assignors", Assignor, "0+", array=True, layouts=(0,)),
        Field(
            "ClassicMemberMetadata",
            "classic_member_metadata",
            ClassicMemberMetadata,
            "0+",
            nullable="0+",
            tag=0,
            layouts=(1,),
        ),
        versions="0",
        flexible="0+",
        key=5,
        layouts=2,
    )
