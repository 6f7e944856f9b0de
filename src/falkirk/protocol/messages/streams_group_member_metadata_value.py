"""Generated from schemas/messages/group_coordinator/19_StreamsGroupMemberMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class Endpoint(WireStruct, gc=False):
    host: str = ""
    port: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Host", "host", "string", "0+"),
        Field("Port", "port", "uint16", "0+"),
    )


class KeyValue(WireStruct, gc=False):
    key: str = ""
    value: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Key", "key", "string", "0+"),
        Field("Value", "value", "string", "0+"),
    )


class StreamsGroupMemberMetadataValue(WireMessage, gc=False):
    """StreamsGroupMemberMetadataValue: coordinator-value 19, versions 0, flexible 0+."""

    instance_id: str | None = ""
    rack_id: str | None = ""
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = 0
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "StreamsGroupMemberMetadataValue",
        "coordinator-value",
        Field("InstanceId", "instance_id", "string", "0+", nullable="0+"),
        Field("RackId", "rack_id", "string", "0+", nullable="0+"),
        Field("ClientId", "client_id", "string", "0+"),
        Field("ClientHost", "client_host", "string", "0+"),
        Field("RebalanceTimeoutMs", "rebalance_timeout_ms", "int32", "0+", default=-1),
        Field("TopologyEpoch", "topology_epoch", "int32", "0+"),
        Field("ProcessId", "process_id", "string", "0+"),
        Field("UserEndpoint", "user_endpoint", Endpoint, "0+", nullable="0+", default=None),
        Field("ClientTags", "client_tags", KeyValue, "0+", array=True),
        versions="0",
        flexible="0+",
        key=19,
    )
