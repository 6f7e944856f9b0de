"""Generated from schemas/messages/api/60_DescribeCluster.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class DescribeClusterBroker(WireStruct, gc=False):
    broker_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None
    is_fenced: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("BrokerId", "broker_id", "int32", "0+"),
        Field("Host", "host", "string", "0+"),
        Field("Port", "port", "int32", "0+"),
        Field("Rack", "rack", "string", "0+", nullable="0+", default=None),
        Field("IsFenced", "is_fenced", "bool", "2+"),
    )


class DescribeClusterResponse(WireMessage, gc=False):
    """DescribeClusterResponse: response 60, versions 0-2, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    endpoint_type: int = 1
    cluster_id: str = ""
    controller_id: int = -1
    brokers: list[DescribeClusterBroker] = []
    cluster_authorized_operations: int = -2147483648
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeClusterResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+", default=None),
        Field("EndpointType", "endpoint_type", "int8", "1+", default=1),
        Field("ClusterId", "cluster_id", "string", "0+"),
        Field("ControllerId", "controller_id", "int32", "0+", default=-1),
        Field("Brokers", "brokers", DescribeClusterBroker, "0+", array=True),
        Field("ClusterAuthorizedOperations", "cluster_authorized_operations", "int32", "0+", default=-2147483648),
        versions="0-2",
        flexible="0+",
        key=60,
    )
