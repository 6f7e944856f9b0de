"""Generated from schemas/messages/api/26_EndTxn.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class EndTxnResponse(WireMessage, gc=False):
    """EndTxnResponse: response 26, versions 0-5, flexible 3+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "EndTxnResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ProducerId", "producer_id", "int64", "5+", default=-1, ignorable=True),
        Field("ProducerEpoch", "producer_epoch", "int16", "5+", default=-1, ignorable=True),
        versions="0-5",
        flexible="3+",
        key=26,
    )
