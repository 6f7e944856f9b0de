"""Generated from schemas/messages/api/46_ListPartitionReassignments.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class ListPartitionReassignmentsTopics(WireStruct, gc=False):
    name: str = ""
    partition_indexes: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("PartitionIndexes", "partition_indexes", "int32", "0+", array=True),
    )


class ListPartitionReassignmentsRequest(WireMessage, gc=False):
    """ListPartitionReassignmentsRequest: request 46, versions 0, flexible 0+."""

    timeout_ms: int = 60000
    topics: list[ListPartitionReassignmentsTopics] | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ListPartitionReassignmentsRequest",
        "request",
        Field("TimeoutMs", "timeout_ms", "int32", "0+", default=60000),
        Field("Topics", "topics", ListPartitionReassignmentsTopics, "0+", array=True, nullable="0+", default=None),
        versions="0",
        flexible="0+",
        key=46,
    )
