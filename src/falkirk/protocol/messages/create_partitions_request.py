"""Generated from schemas/messages/api/37_CreatePartitions.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class CreatePartitionsAssignment(WireStruct, gc=False):
    broker_ids: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("BrokerIds", "broker_ids", "int32", "0+", array=True),
    )


class CreatePartitionsTopic(WireStruct, gc=False):
    name: str = ""
    count: int = 0
    assignments: list[CreatePartitionsAssignment] | None = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Count", "count", "int32", "0+"),
        Field("Assignments", "assignments", CreatePartitionsAssignment, "0+", array=True, nullable="0+"),
    )


class CreatePartitionsRequest(WireMessage, gc=False):
    """CreatePartitionsRequest: request 37, versions 0-3, flexible 2+."""

    topics: list[CreatePartitionsTopic] = []
    timeout_ms: int = 0
    validate_only: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "CreatePartitionsRequest",
        "request",
        Field("Topics", "topics", CreatePartitionsTopic, "0+", array=True),
        Field("TimeoutMs", "timeout_ms", "int32", "0+"),
        Field("ValidateOnly", "validate_only", "bool", "0+"),
        versions="0-3",
        flexible="2+",
        key=37,
    )
