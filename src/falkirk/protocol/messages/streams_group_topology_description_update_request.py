"""Generated from schemas/messages/api/93_StreamsGroupTopologyDescriptionUpdate.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class TopologyDescriptionNode(WireStruct, gc=False):
    name: str = ""
    node_type: int = 0
    source_topics: tuple[str, ...] = ()
    sink_topic: str | None = None
    stores: tuple[str, ...] = ()
    successors: tuple[str, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("NodeType", "node_type", "int8", "0+"),
        Field("SourceTopics", "source_topics", "string", "0+", array=True),
        Field("SinkTopic", "sink_topic", "string", "0+", nullable="0+", default=None),
        Field("Stores", "stores", "string", "0+", array=True),
        Field("Successors", "successors", "string", "0+", array=True),
    )


class TopologyDescriptionSubtopology(WireStruct, gc=False):
    subtopology_id: str = ""
    nodes: list[TopologyDescriptionNode] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("SubtopologyId", "subtopology_id", "string", "0+"),
        Field("Nodes", "nodes", TopologyDescriptionNode, "0+", array=True),
    )


class TopologyDescriptionGlobalStore(WireStruct, gc=False):
    source: TopologyDescriptionNode = msgspec.field(default_factory=TopologyDescriptionNode)
    processor: TopologyDescriptionNode = msgspec.field(default_factory=TopologyDescriptionNode)
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Source", "source", TopologyDescriptionNode, "0+"),
        Field("Processor", "processor", TopologyDescriptionNode, "0+"),
    )


class TopologyDescription(WireStruct, gc=False):
    subtopologies: list[TopologyDescriptionSubtopology] = []
    global_stores: list[TopologyDescriptionGlobalStore] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Subtopologies", "subtopologies", TopologyDescriptionSubtopology, "0+", array=True),
        Field("GlobalStores", "global_stores", TopologyDescriptionGlobalStore, "0+", array=True),
    )


class StreamsGroupTopologyDescriptionUpdateRequest(WireMessage, gc=False):
    """StreamsGroupTopologyDescriptionUpdateRequest: request 93, versions 0, flexible 0+."""

    group_id: str = ""
    member_id: str = ""
    topology_epoch: int = 0
    topology_description: TopologyDescription = msgspec.field(default_factory=TopologyDescription)
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "StreamsGroupTopologyDescriptionUpdateRequest",
        "request",
        Field("GroupId", "group_id", "string", "0+"),
        Field("MemberId", "member_id", "string", "0+"),
        Field("TopologyEpoch", "topology_epoch", "int32", "0+"),
        Field("TopologyDescription", "topology_description", TopologyDescription, "0+"),
        versions="0",
        flexible="0+",
        key=93,
    )
