"""Generated from schemas/messages/group_coordinator/23_StreamsGroupTopology.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class TopicConfig(WireStruct, gc=False):
    key: str = ""
    value: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("key", "key", "string", "0+"),
        Field("value", "value", "string", "0+"),
    )


class TopicInfo(WireStruct, gc=False):
    name: str = ""
    partitions: int = 0
    replication_factor: int = 0
    topic_configs: list[TopicConfig] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Partitions", "partitions", "int32", "0+"),
        Field("ReplicationFactor", "replication_factor", "int16", "0+"),
        Field("TopicConfigs", "topic_configs", TopicConfig, "0+", array=True),
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


class StreamsGroupTopologyValue(WireMessage, gc=False):
    """StreamsGroupTopologyValue: coordinator-value 23, versions 0, flexible 0+."""

    epoch: int = 0
    subtopologies: list[Subtopology] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "StreamsGroupTopologyValue",
        "coordinator-value",
        Field("Epoch", "epoch", "int32", "0+"),
        Field("Subtopologies", "subtopologies", Subtopology, "0+", array=True),
        versions="0",
        flexible="0+",
        key=23,
    )
