"""Generated from schemas/messages/api/22_InitProducerId.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, UnknownTaggedFields, WireMessage


class InitProducerIdResponse(WireMessage, gc=False):
    """InitProducerIdResponse: response 22, versions 0-6, flexible 2+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id: int = -1
    producer_epoch: int = 0
    ongoing_txn_producer_id: int = -1
    ongoing_txn_producer_epoch: int = -1
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "InitProducerIdResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ProducerId", "producer_id", "int64", "0+", default=-1),
        Field("ProducerEpoch", "producer_epoch", "int16", "0+"),
        Field("OngoingTxnProducerId", "ongoing_txn_producer_id", "int64", "6+", default=-1),
        Field("OngoingTxnProducerEpoch", "ongoing_txn_producer_epoch", "int16", "6+", default=-1),
        versions="0-6",
        flexible="2+",
        key=22,
    )
