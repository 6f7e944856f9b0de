"""Generated from schemas/messages/api/27_WriteTxnMarkers.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class WritableTxnMarkerPartitionResult(WireStruct, gc=False):
    partition_index: int = 0
    error_code: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
    )


class WritableTxnMarkerTopicResult(WireStruct, gc=False):
    name: str = ""
    partitions: list[WritableTxnMarkerPartitionResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Partitions", "partitions", WritableTxnMarkerPartitionResult, "0+", array=True),
    )


class WritableTxnMarkerResult(WireStruct, gc=False):
    producer_id: int = 0
    topics: list[WritableTxnMarkerTopicResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ProducerId", "producer_id", "int64", "0+"),
        Field("Topics", "topics", WritableTxnMarkerTopicResult, "0+", array=True),
    )


class WriteTxnMarkersResponse(WireMessage, gc=False):
    """WriteTxnMarkersResponse: response 27, versions 0-2, flexible 1+."""

    markers: list[WritableTxnMarkerResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "WriteTxnMarkersResponse",
        "response",
        Field("Markers", "markers", WritableTxnMarkerResult, "0+", array=True),
        versions="0-2",
        flexible="1+",
        key=27,
    )
