"""Generated from schemas/messages/api/88_StreamsGroupHeartbeat.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class KeyValue(WireStruct, gc=False):
    key: str = ""
    value: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Key", "key", "string", "0+"),
        Field("Value", "value", "string", "0+"),
    )


class TopicInfo(WireStruct, gc=False):
    name: str = ""
    partitions: int = 0
    replication_factor: int = 0
    topic_configs: list[KeyValue] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Partitions", "partitions", "int32", "0+"),
        Field("ReplicationFactor", "replication_factor", "int16", "0+"),
        Field("TopicConfigs", "topic_configs", KeyValue, "0+", array=True),
    )


class CopartitionGroup(WireStruct, gc=False):
    source_topics: tuple[int, ...] = ()
    source_topic_regex: tuple[int, ...] = ()
    repartition_source_topics: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("SourceTopics", "source_topics", "int16", "0+", array=True),
        Field("SourceTopicRegex", "source_topic_regex", "int16", "0+", array=True),
        Field("RepartitionSourceTopics", "repartition_source_topics", "int16", "0+", array=True),
    )


class Subtopology(WireStruct, gc=False):
    subtopology_id: str = ""
    source_topics: tuple[str, ...] = ()
    source_topic_regex: tuple[str, ...] = ()
    state_changelog_topics: list[TopicInfo] = []
    repartition_sink_topics: tuple[str, ...] = ()
    repartition_source_topics: list[TopicInfo] = []
    copartition_groups: list[CopartitionGroup] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("SubtopologyId", "subtopology_id", "string", "0+"),
        Field("SourceTopics", "source_topics", "string", "0+", array=True),
        Field("SourceTopicRegex", "source_topic_regex", "string", "0+", array=True),
        Field("StateChangelogTopics", "state_changelog_topics", TopicInfo, "0+", array=True),
        Field("RepartitionSinkTopics", "repartition_sink_topics", "string", "0+", array=True),
        Field("RepartitionSourceTopics", "repartition_source_topics", TopicInfo, "0+", array=True),
        Field("CopartitionGroups", "copartition_groups", CopartitionGroup, "0+", array=True),
    )


class Topology(WireStruct, gc=False):
    epoch: int = 0
    subtopologies: list[Subtopology] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Epoch", "epoch", "int32", "0+"),
        Field("Subtopologies", "subtopologies", Subtopology, "0+", array=True),
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


class TaskOffset(WireStruct, gc=False):
    subtopology_id: str = ""
    partition: int = 0
    offset: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("SubtopologyId", "subtopology_id", "string", "0+"),
        Field("Partition", "partition", "int32", "0+"),
        Field("Offset", "offset", "int64", "0+"),
    )


class StreamsGroupHeartbeatRequest(WireMessage, gc=False):
    """StreamsGroupHeartbeatRequest: request 88, versions 0-1, flexible 0+."""

    group_id: str = ""
    member_id: str = ""
    member_epoch: int = 0
    endpoint_information_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology: Topology | None = None
    active_tasks: list[TaskIds] | None = None
    standby_tasks: list[TaskIds] | None = None
    warmup_tasks: list[TaskIds] | None = None
    process_id: str | None = None
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue] | None = None
    task_offsets: list[TaskOffset] | None = None
    task_end_offsets: list[TaskOffset] | None = None
    shutdown_application: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "StreamsGroupHeartbeatRequest",
        "request",
        Field("GroupId", "group_id", "string", "0+"),
        Field("MemberId", "member_id", "string", "0+"),
        Field("MemberEpoch", "member_epoch", "int32", "0+"),
        Field("EndpointInformationEpoch", "endpoint_information_epoch", "int32", "0+"),
        Field("InstanceId", "instance_id", "string", "0+", nullable="0+", default=None),
        Field("RackId", "rack_id", "string", "0+", nullable="0+", default=None),
        Field("RebalanceTimeoutMs", "rebalance_timeout_ms", "int32", "0+", default=-1),
        Field("Topology", "topology", Topology, "0+", nullable="0+", default=None),
        Field("ActiveTasks", "active_tasks", TaskIds, "0+", array=True, nullable="0+", default=None),
        Field("StandbyTasks", "standby_tasks", TaskIds, "0+", array=True, nullable="0+", default=None),
        Field("WarmupTasks", "warmup_tasks", TaskIds, "0+", array=True, nullable="0+", default=None),
        Field("ProcessId", "process_id", "string", "0+", nullable="0+", default=None),
        Field("UserEndpoint", "user_endpoint", Endpoint, "0+", nullable="0+", default=None),
        Field("ClientTags", "client_tags", KeyValue, "0+", array=True, nullable="0+", default=None),
        Field("TaskOffsets", "task_offsets", TaskOffset, "0+", array=True, nullable="0+", default=None),
        Field("TaskEndOffsets", "task_end_offsets", TaskOffset, "0+", array=True, nullable="0+", default=None),
        Field("ShutdownApplication", "shutdown_application", "bool", "0+"),
        versions="0-1",
        flexible="0+",
        key=88,
    )
