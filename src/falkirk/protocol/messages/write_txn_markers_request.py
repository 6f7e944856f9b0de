"""Generated from schemas/messages/api/27_WriteTxnMarkers.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class WritableTxnMarkerTopic(WireStruct, gc=False):
    name: str = ""
    partition_indexes: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("PartitionIndexes", "partition_indexes", "int32", "0+", array=True),
    )


class WritableTxnMarker(WireStruct, gc=False):
    producer_id: int = 0
    producer_epoch: int = 0
    transaction_result: bool = False
    topics: list[WritableTxnMarkerTopic] = []
    coordinator_epoch: int = 0
    transaction_version: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ProducerId", "producer_id", "int64", "0+"),
        Field("ProducerEpoch", "producer_epoch", "int16", "0+"),
        Field("TransactionResult", "transaction_result", "bool", "0+"),
        Field("Topics", "topics", WritableTxnMarkerTopic, "0+", array=True),
        Field("CoordinatorEpoch", "coordinator_epoch", "int32", "0+"),
        Field("TransactionVersion", "transaction_version", "int8", "2+", ignorable=True),
    )


class WriteTxnMarkersRequest(WireMessage, gc=False):
    """WriteTxnMarkersRequest: request 27, versions 0-2, flexible 1+."""

    markers: list[WritableTxnMarker] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "WriteTxnMarkersRequest",
        "request",
        Field("Markers", "markers", WritableTxnMarker, "0+", array=True),
        versions="0-2",
        flexible="1+",
        key=27,
    )
