"""Generated from schemas/messages/api/88_StreamsGroupHeartbeat.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class Status(WireStruct, gc=False):
    status_code: int = 0
    status_detail: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("StatusCode", "status_code", "int8", "0+"),
        Field("StatusDetail", "status_detail", "string", "0+"),
    )


class TaskIds(WireStruct, gc=False):
    subtopology_id: str = ""
    partitions: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("SubtopologyId", "subtopology_id", "string", "0+"),
        Field("Partitions", "partitions", "int32", "0+", array=True),
    )


class Endpoint(WireStruct, gc=False):
    host: str = ""
    port: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Host", "host", "string", "0+"),
        Field("Port", "port", "uint16", "0+"),
    )


class TopicPartition(WireStruct, gc=False):
    topic: str = ""
    partitions: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Topic", "topic", "string", "0+"),
        Field("Partitions", "partitions", "int32", "0+", array=True),
    )


class EndpointToPartitions(WireStruct, gc=False):
    user_endpoint: Endpoint = msgspec.field(default_factory=Endpoint)
    active_partitions: list[TopicPartition] = []
    standby_partitions: list[TopicPartition] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("UserEndpoint", "user_endpoint", Endpoint, "0+"),
        Field("ActivePartitions", "active_partitions", TopicPartition, "0+", array=True),
        Field("StandbyPartitions", "standby_partitions", TopicPartition, "0+", array=True),
    )


class StreamsGroupHeartbeatResponse(WireMessage, gc=False):
    """StreamsGroupHeartbeatResponse: response 88, versions 0-1, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    member_id: str = ""
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    acceptable_recovery_lag_legacy: int = 0
    task_offset_interval_ms: int = 0
    acceptable_recovery_lag: int = -1
    status: list[Status] | None = []
    active_tasks: list[TaskIds] | None = None
    standby_tasks: list[TaskIds] | None = None
    warmup_tasks: list[TaskIds] | None = None
    topology_description_required: bool = False
    endpoint_information_epoch: int = 0
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "StreamsGroupHeartbeatResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+", default=None),
        Field("MemberId", "member_id", "string", "0+"),
        Field("MemberEpoch", "member_epoch", "int32", "0+"),
        Field("HeartbeatIntervalMs", "heartbeat_interval_ms", "int32", "0+"),
        Field(
            "AcceptableRecoveryLagLegacy",
            "acceptable_recovery_lag_legacy",
            "int32",
            "0",
            old_names={0: "AcceptableRecoveryLag"},
        ),
        Field("TaskOffsetIntervalMs", "task_offset_interval_ms", "int32", "0+"),
        Field("AcceptableRecoveryLag", "acceptable_recovery_lag", "int64", "1+", default=-1, ignorable=True),
        Field("Status", "status", Status, "0+", array=True, nullable="0+"),
        Field("ActiveTasks", "active_tasks", TaskIds, "0+", array=True, nullable="0+", default=None),
        Field("StandbyTasks", "standby_tasks", TaskIds, "0+", array=True, nullable="0+", default=None),
        Field("WarmupTasks", "warmup_tasks", TaskIds, "0+", array=True, nullable="0+", default=None),
        Field("TopologyDescriptionRequired", "topology_description_required", "bool", "1+"),
        Field("EndpointInformationEpoch", "endpoint_information_epoch", "int32", "0+"),
        Field(
            "PartitionsByUserEndpoint",
            "partitions_by_user_endpoint",
            EndpointToPartitions,
            "0+",
            array=True,
            nullable="0+",
            default=None,
        ),
        versions="0-1",
        flexible="0+",
        key=88,
        layouts=2,
    )
