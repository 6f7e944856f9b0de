"""Generated from schemas/messages/api/89_StreamsGroupDescribe.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

import msgspec

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


class Subtopology(WireStruct, gc=False):
    subtopology_id: str = ""
    source_topics: tuple[str, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    state_changelog_topics: list[TopicInfo] = []
    repartition_source_topics: list[TopicInfo] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("SubtopologyId", "subtopology_id", "string", "0+"),
        Field("SourceTopics", "source_topics", "string", "0+", array=True),
        Field("RepartitionSinkTopics", "repartition_sink_topics", "string", "0+", array=True),
        Field("StateChangelogTopics", "state_changelog_topics", TopicInfo, "0+", array=True),
        Field("RepartitionSourceTopics", "repartition_source_topics", TopicInfo, "0+", array=True),
    )


class Topology(WireStruct, gc=False):
    epoch: int = 0
    subtopologies: list[Subtopology] | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Epoch", "epoch", "int32", "0+"),
        Field("Subtopologies", "subtopologies", Subtopology, "0+", array=True, nullable="0+", default=None),
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


class TaskIds(WireStruct, gc=False):
    subtopology_id: str = ""
    partitions: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("SubtopologyId", "subtopology_id", "string", "0+"),
        Field("Partitions", "partitions", "int32", "0+", array=True),
    )


class Assignment(WireStruct, gc=False):
    active_tasks: list[TaskIds] = []
    standby_tasks: list[TaskIds] = []
    warmup_tasks: list[TaskIds] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ActiveTasks", "active_tasks", TaskIds, "0+", array=True),
        Field("StandbyTasks", "standby_tasks", TaskIds, "0+", array=True),
        Field("WarmupTasks", "warmup_tasks", TaskIds, "0+", array=True),
    )


class Member(WireStruct, gc=False):
    member_id: str = ""
    member_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topology_epoch: int = 0
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue] = []
    task_offsets: list[TaskOffset] = []
    task_end_offsets: list[TaskOffset] = []
    assignment: Assignment = msgspec.field(default_factory=Assignment)
    target_assignment: Assignment = msgspec.field(default_factory=Assignment)
    is_classic: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("MemberId", "member_id", "string", "0+"),
        Field("MemberEpoch", "member_epoch", "int32", "0+"),
        Field("InstanceId", "instance_id", "string", "0+", nullable="0+", default=None),
        Field("RackId", "rack_id", "string", "0+", nullable="0+", default=None),
        Field("ClientId", "client_id", "string", "0+"),
        Field("ClientHost", "client_host", "string", "0+"),
        Field("TopologyEpoch", "topology_epoch", "int32", "0+"),
        Field("ProcessId", "process_id", "string", "0+"),
        Field("UserEndpoint", "user_endpoint", Endpoint, "0+", nullable="0+", default=None),
        Field("ClientTags", "client_tags", KeyValue, "0+", array=True),
        Field("TaskOffsets", "task_offsets", TaskOffset, "0+", array=True),
        Field("TaskEndOffsets", "task_end_offsets", TaskOffset, "0+", array=True),
        Field("Assignment", "assignment", Assignment, "0+"),
        Field("TargetAssignment", "target_assignment", Assignment, "0+"),
        Field("IsClassic", "is_classic", "bool", "0+"),
    )


class TopologyDescriptionNode(WireStruct, gc=False):
    name: str = ""
    node_type: int = 0
    source_topics: tuple[str, ...] = ()
    sink_topic: str | None = None
    stores: tuple[str, ...] = ()
    successors: tuple[str, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "1+"),
        Field("NodeType", "node_type", "int8", "1+"),
        Field("SourceTopics", "source_topics", "string", "1+", array=True),
        Field("SinkTopic", "sink_topic", "string", "1+", nullable="1+", default=None),
        Field("Stores", "stores", "string", "1+", array=True),
        Field("Successors", "successors", "string", "1+", array=True),
    )


class TopologyDescriptionSubtopology(WireStruct, gc=False):
    subtopology_id: str = ""
    nodes: list[TopologyDescriptionNode] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("SubtopologyId", "subtopology_id", "string", "1+"),
        Field("Nodes", "nodes", TopologyDescriptionNode, "1+", array=True),
    )


class TopologyDescriptionGlobalStore(WireStruct, gc=False):
    source: TopologyDescriptionNode = msgspec.field(default_factory=TopologyDescriptionNode)
    processor: TopologyDescriptionNode = msgspec.field(default_factory=TopologyDescriptionNode)
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Source", "source", TopologyDescriptionNode, "1+"),
        Field("Processor", "processor", TopologyDescriptionNode, "1+"),
    )


class TopologyDescription(WireStruct, gc=False):
    subtopologies: list[TopologyDescriptionSubtopology] = []
    global_stores: list[TopologyDescriptionGlobalStore] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Subtopologies", "subtopologies", TopologyDescriptionSubtopology, "1+", array=True),
        Field("GlobalStores", "global_stores", TopologyDescriptionGlobalStore, "1+", array=True),
    )


class DescribedGroup(WireStruct, gc=False):
    error_code: int = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    topology: Topology | None = None
    members: list[Member] = []
    authorized_operations: int = -2147483648
    topology_description: TopologyDescription | None = None
    topology_description_status: int = 0
    assignor_name: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+", default=None),
        Field("GroupId", "group_id", "string", "0+"),
        Field("GroupState", "group_state", "string", "0+"),
        Field("GroupEpoch", "group_epoch", "int32", "0+"),
        Field("AssignmentEpoch", "assignment_epoch", "int32", "0+"),
        Field("Topology", "topology", Topology, "0+", nullable="0+", default=None),
        Field("Members", "members", Member, "0+", array=True),
        Field("AuthorizedOperations", "authorized_operations", "int32", "0+", default=-2147483648),
        Field("TopologyDescription", "topology_description", TopologyDescription, "1+", nullable="1+", default=None),
        Field("TopologyDescriptionStatus", "topology_description_status", "int8", "1+"),
        Field("AssignorName", "assignor_name", "string", "1+", nullable="1+", default=None, ignorable=True),
    )


class StreamsGroupDescribeResponse(WireMessage, gc=False):
    """StreamsGroupDescribeResponse: response 89, versions 0-1, flexible 0+."""

    throttle_time_ms: int = 0
    groups: list[DescribedGroup] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "StreamsGroupDescribeResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("Groups", "groups", DescribedGroup, "0+", array=True),
        versions="0-1",
        flexible="0+",
        key=89,
    )
