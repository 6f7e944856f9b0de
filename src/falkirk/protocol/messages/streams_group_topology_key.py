"""Generated from schemas/messages/group_coordinator/23_StreamsGroupTopology.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, WireMessage


class StreamsGroupTopologyKey(WireMessage, gc=False):
    """StreamsGroupTopologyKey: coordinator-key 23, versions 0, flexible none."""

    group_id: str = ""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "StreamsGroupTopologyKey",
        "coordinator-key",
        Field("GroupId", "group_id", "string", "0+"),
        versions="0",
        flexible="none",
        key=23,
    )
