"""Generated from schemas/messages/group_coordinator/17_StreamsGroupMetadata.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class LastAssignmentConfig(WireStruct, gc=False):
    key: str = ""
    value: str = ""
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Key", "key", "string", "0+"),
        Field("Value", "value", "string", "0+"),
    )


class StreamsGroupMetadataValue(WireMessage, gc=False):
    """StreamsGroupMetadataValue: coordinator-value 17, versions 0, flexible 0+."""

    epoch: int = 0
    metadata_hash: int = 0
    validated_topology_epoch: int = -1
    last_assignment_configs: list[LastAssignmentConfig] | None = []
    stored_description_topology_epoch: int = -1
    failed_description_topology_epoch: int = -1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "StreamsGroupMetadataValue",
        "coordinator-value",
        Field("Epoch", "epoch", "int32", "0+"),
        Field("MetadataHash", "metadata_hash", "int64", "0+"),
        Field("ValidatedTopologyEpoch", "validated_topology_epoch", "int32", "0+", tag=0, default=-1, layouts=(1, 2)),
        Field(
            "LastAssignmentConfigs",
            "last_assignment_configs",
            LastAssignmentConfig,
            "0+",
            array=True,
            nullable="0+",
            tag=1,
            layouts=(1, 2),
        ),
        Field(
            "StoredDescriptionTopologyEpoch",
            "stored_description_topology_epoch",
            "int32",
            "0+",
            tag=2,
            default=-1,
            layouts=(2,),
        ),
        Field(
            "FailedDescriptionTopologyEpoch",
            "failed_description_topology_epoch",
            "int32",
            "0+",
            tag=3,
            default=-1,
            layouts=(2,),
        ),
        versions="0",
        flexible="0+",
        key=17,
        layouts=3,
    )
