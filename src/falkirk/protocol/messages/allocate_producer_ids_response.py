"""Generated from schemas/messages/api/67_AllocateProducerIds.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class AllocateProducerIdsResponse(WireMessage, gc=False):
    """AllocateProducerIdsResponse: response 67, versions 0, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id_start: int = 0
    producer_id_len: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AllocateProducerIdsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ProducerIdStart", "producer_id_start", "int64", "0+"),
        Field("ProducerIdLen", "producer_id_len", "int32", "0+"),
        versions="0",
        flexible="0+",
        key=67,
    )
