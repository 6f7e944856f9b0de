"""Generated from schemas/messages/api/24_AddPartitionsToTxn.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class AddPartitionsToTxnPartitionResult(WireStruct, gc=False):
    partition_index: int = 0
    partition_error_code: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("PartitionErrorCode", "partition_error_code", "int16", "0+"),
    )


class AddPartitionsToTxnTopicResult(WireStruct, gc=False):
    name: str = ""
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("ResultsByPartition", "results_by_partition", AddPartitionsToTxnPartitionResult, "0+", array=True),
    )


class AddPartitionsToTxnResult(WireStruct, gc=False):
    transactional_id: str = ""
    topic_results: list[AddPartitionsToTxnTopicResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TransactionalId", "transactional_id", "string", "4+"),
        Field("TopicResults", "topic_results", AddPartitionsToTxnTopicResult, "4+", array=True),
    )


class AddPartitionsToTxnResponse(WireMessage, gc=False):
    """AddPartitionsToTxnResponse: response 24, versions 0-5, flexible 3+."""

    throttle_time_ms: int = 0
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = []
    error_code: int = 0
    results_by_transaction: list[AddPartitionsToTxnResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AddPartitionsToTxnResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field(
            "ResultsByTopicV3AndBelow",
            "results_by_topic_v3_and_below",
            AddPartitionsToTxnTopicResult,
            "0-3",
            array=True,
        ),
        Field("ErrorCode", "error_code", "int16", "4+", ignorable=True),
        Field("ResultsByTransaction", "results_by_transaction", AddPartitionsToTxnResult, "4+", array=True),
        versions="0-5",
        flexible="3+",
        key=24,
    )
