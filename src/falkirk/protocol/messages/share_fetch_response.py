"""Generated from schemas/messages/api/78_ShareFetch.schema by tools/generate_messages.py: do not edit."""

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


class LeaderIdAndEpoch(WireStruct, gc=False):
    leader_id: int = 0
    leader_epoch: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("LeaderId", "leader_id", "int32", "0+"),
        Field("LeaderEpoch", "leader_epoch", "int32", "0+"),
    )


class AcquiredRecords(WireStruct, gc=False):
    first_offset: int = 0
    last_offset: int = 0
    delivery_count: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("FirstOffset", "first_offset", "int64", "0+"),
        Field("LastOffset", "last_offset", "int64", "0+"),
        Field("DeliveryCount", "delivery_count", "int16", "0+"),
    )


class PartitionData(WireStruct, gc=False):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    acknowledge_error_code: int = 0
    acknowledge_error_message: str | None = None
    current_leader: LeaderIdAndEpoch = msgspec.field(default_factory=LeaderIdAndEpoch)
    records: bytes | memoryview | None = None
    acquired_records: list[AcquiredRecords] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+", default=None),
        Field("AcknowledgeErrorCode", "acknowledge_error_code", "int16", "0+"),
        Field("AcknowledgeErrorMessage", "acknowledge_error_message", "string", "0+", nullable="0+", default=None),
        Field("CurrentLeader", "current_leader", LeaderIdAndEpoch, "0+"),
        Field("Records", "records", "records", "0+", nullable="0"),
        Field("AcquiredRecords", "acquired_records", AcquiredRecords, "0+", array=True),
    )


class ShareFetchableTopicResponse(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Partitions", "partitions", PartitionData, "0+", array=True),
    )


class NodeEndpoint(WireStruct, gc=False):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("NodeId", "node_id", "int32", "0+"),
        Field("Host", "host", "string", "0+"),
        Field("Port", "port", "int32", "0+"),
        Field("Rack", "rack", "string", "0+", nullable="0+", default=None),
    )


class ShareFetchResponse(WireMessage, gc=False):
    """ShareFetchResponse: response 78, versions 0-2, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    acquisition_lock_timeout_ms: int = 0
    responses: list[ShareFetchableTopicResponse] = []
    node_endpoints: list[NodeEndpoint] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "ShareFetchResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+", default=None),
        Field("AcquisitionLockTimeoutMs", "acquisition_lock_timeout_ms", "int32", "1+"),
        Field("Responses", "responses", ShareFetchableTopicResponse, "0+", array=True),
        Field("NodeEndpoints", "node_endpoints", NodeEndpoint, "0+", array=True),
        versions="0-2",
        flexible="0+",
        key=78,
    )
