"""Generated from schemas/messages/api/60_DescribeCluster.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class DescribeClusterRequest(WireMessage, gc=False):
    """DescribeClusterRequest: request 60, versions 0-2, flexible 0+."""

    include_cluster_authorized_operations: bool = False
    endpoint_type: int = 1
    include_fenced_brokers: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeClusterRequest",
        "request",
        Field("IncludeClusterAuthorizedOperations", "include_cluster_authorized_operations", "bool", "0+"),
        Field("EndpointType", "endpoint_type", "int8", "1+", default=1),
        Field("IncludeFencedBrokers", "include_fenced_brokers", "bool", "2+"),
        versions="0-2",
        flexible="0+",
        key=60,
    )
