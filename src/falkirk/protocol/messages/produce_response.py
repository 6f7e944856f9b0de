"""Generated from schemas/messages/api/00_Produce.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from falkirk.protocol.schema import (
    ZERO_UUID,
    Field,
    MessageSchema,
    StructSchema,
    UnknownTaggedFields,
    WireMessage,
    WireStruct,
)


class BatchIndexAndErrorMessage(WireStruct, gc=False):
    batch_index: int = 0
    batch_index_error_message: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("BatchIndex", "batch_index", "int32", "8+"),
        Field("BatchIndexErrorMessage", "batch_index_error_message", "string", "8+", nullable="8+", default=None),
    )


class LeaderIdAndEpoch(WireStruct, gc=False):
    leader_id: int = -1
    leader_epoch: int = -1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("LeaderId", "leader_id", "int32", "10+", default=-1),
        Field("LeaderEpoch", "leader_epoch", "int32", "10+", default=-1),
    )


class PartitionProduceResponse(WireStruct, gc=False):
    index: int = 0
    error_code: int = 0
    base_offset: int = 0
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: list[BatchIndexAndErrorMessage] = []
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch = msgspec.field(default_factory=LeaderIdAndEpoch)
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Index", "index", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("BaseOffset", "base_offset", "int64", "0+"),
        Field("LogAppendTimeMs", "log_append_time_ms", "int64", "2+", default=-1, ignorable=True),
        Field("LogStartOffset", "log_start_offset", "int64", "5+", default=-1, ignorable=True),
        Field("RecordErrors", "record_errors", BatchIndexAndErrorMessage, "8+", array=True, ignorable=True),
        Field("ErrorMessage", "error_message", "string", "8+", nullable="8+", default=None, ignorable=True),
        Field("CurrentLeader", "current_leader", LeaderIdAndEpoch, "10+", tag=0, ignorable=True),
    )


class TopicProduceResponse(WireStruct, gc=False):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partition_responses: list[PartitionProduceResponse] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0-12", ignorable=True),
        Field("TopicId", "topic_id", "uuid", "13+", ignorable=True),
        Field("PartitionResponses", "partition_responses", PartitionProduceResponse, "0+", array=True),
    )


class NodeEndpoint(WireStruct, gc=False):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("NodeId", "node_id", "int32", "10+"),
        Field("Host", "host", "string", "10+"),
        Field("Port", "port", "int32", "10+"),
        Field("Rack", "rack", "string", "10+", nullable="10+", default=None),
    )


class ProduceResponse(WireMessage, gc=False):
    """ProduceResponse: response 0, versions 0-13, flexible 9+."""

    responses: list[TopicProduceResponse] = []
    throttle_time_ms: int = 0
    node_endpoints: list[NodeEndpoint] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ProduceResponse",
        "response",
        Field("Responses", "responses", TopicProduceResponse, "0+", array=True),
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "1+", ignorable=True),
        Field("NodeEndpoints", "node_endpoints", NodeEndpoint, "10+", array=True, tag=0),
        versions="0-13",
        flexible="9+",
        key=0,
    )
