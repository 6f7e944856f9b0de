"""Generated from schemas/messages/api/82_UpdateRaftVoter.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class CurrentLeader(WireStruct, gc=False):
    leader_id: int = -1
    leader_epoch: int = -1
    host: str = ""
    port: int = 0
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("LeaderId", "leader_id", "int32", "0+", default=-1),
        Field("LeaderEpoch", "leader_epoch", "int32", "0+", default=-1),
        Field("Host", "host", "string", "0+"),
        Field("Port", "port", "int32", "0+"),
    )


class UpdateRaftVoterResponse(WireMessage, gc=False):
    """UpdateRaftVoterResponse: response 82, versions 0, flexible 0+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    current_leader: CurrentLeader = msgspec.field(default_factory=CurrentLeader)
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "UpdateRaftVoterResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("CurrentLeader", "current_leader", CurrentLeader, "0+", tag=0),
        versions="0",
        flexible="0+",
        key=82,
    )
