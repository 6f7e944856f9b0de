"""Generated from schemas/messages/api/18_ApiVersions.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class ApiVersionsRequest(WireMessage, gc=False):
    """ApiVersionsRequest: request 18, versions 0-5, flexible 3+."""

    client_software_name: str = ""
    client_software_version: str = ""
    cluster_id: str | None = None
    node_id: int = -1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ApiVersionsRequest",
        "request",
        Field("ClientSoftwareName", "client_software_name", "string", "3+", ignorable=True),
        Field("ClientSoftwareVersion", "client_software_version", "string", "3+", ignorable=True),
        Field("ClusterId", "cluster_id", "string", "5+", nullable="5+", default=None, ignorable=True),
        Field("NodeId", "node_id", "int32", "5+", default=-1, ignorable=True),
        versions="0-5",
        flexible="3+",
        key=18,
    )
