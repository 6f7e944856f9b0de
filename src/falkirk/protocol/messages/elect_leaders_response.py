"""Generated from schemas/messages/api/43_ElectLeaders.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class PartitionResult(WireStruct, gc=False):
    partition_id: int = 0
    error_code: int = 0
    error_message: str | None = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionId", "partition_id", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+"),
    )


class ReplicaElectionResult(WireStruct, gc=False):
    topic: str = ""
    partition_result: list[PartitionResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Topic", "topic", "string", "0+"),
        Field("PartitionResult", "partition_result", PartitionResult, "0+", array=True),
    )


class ElectLeadersResponse(WireMessage, gc=False):
    """ElectLeadersResponse: response 43, versions 0-2, flexible 2+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    replica_election_results: list[ReplicaElectionResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ElectLeadersResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "1+"),
        Field("ReplicaElectionResults", "replica_election_results", ReplicaElectionResult, "0+", array=True),
        versions="0-2",
        flexible="2+",
        key=43,
    )
