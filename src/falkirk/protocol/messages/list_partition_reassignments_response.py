"""Generated from schemas/messages/api/46_ListPartitionReassignments.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class OngoingPartitionReassignment(WireStruct, gc=False):
    partition_index: int = 0
    replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("Replicas", "replicas", "int32", "0+", array=True),
        Field("AddingReplicas", "adding_replicas", "int32", "0+", array=True),
        Field("RemovingReplicas", "removing_replicas", "int32", "0+", array=True),
    )


class OngoingTopicReassignment(WireStruct, gc=False):
    name: str = ""
    partitions: list[OngoingPartitionReassignment] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Partitions", "partitions", OngoingPartitionReassignment, "0+", array=True),
    )


class ListPartitionReassignmentsResponse(WireMessage, gc=False):
    """ListPartitionReassignmentsResponse: response 46, versions 0, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    topics: list[OngoingTopicReassignment] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ListPartitionReassignmentsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
        Field("Topics", "topics", OngoingTopicReassignment, "0+", array=True),
        versions="0",
        flexible="0+",
        key=46,
    )
