"""Generated from schemas/messages/api/86_DeleteShareGroupState.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import (
    ZERO_UUID,
    Field,
    MessageSchema,
    StructSchema,
    UnknownTaggedFields,
    WireMessage,
    WireStruct,
)


class PartitionResult(WireStruct, gc=False):
    partition: int = 0
    error_code: int = 0
    error_message: str | None = None
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Partition", "partition", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "0+", nullable="0+", default=None),
    )


class DeleteStateResult(WireStruct, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("TopicId", "topic_id", "uuid", "0+"),
        Field("Partitions", "partitions", PartitionResult, "0+", array=True),
    )


class DeleteShareGroupStateResponse(WireMessage, gc=False):
    """DeleteShareGroupStateResponse: response 86, versions 0, flexible 0+."""

    results: list[DeleteStateResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DeleteShareGroupStateResponse",
        "response",
        Field("Results", "results", DeleteStateResult, "0+", array=True),
        versions="0",
        flexible="0+",
        key=86,
    )
