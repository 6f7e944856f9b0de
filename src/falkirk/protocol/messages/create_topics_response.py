"""Generated from schemas/messages/api/19_CreateTopics.schema by tools/generate_messages.py: do not edit."""

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


class CreatableTopicConfigs(WireStruct, gc=False):
    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: int = -1
    is_sensitive: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "5+"),
        Field("Value", "value", "string", "5+", nullable="5+"),
        Field("ReadOnly", "read_only", "bool", "5+"),
        Field("ConfigSource", "config_source", "int8", "5+", default=-1),
        Field("IsSensitive", "is_sensitive", "bool", "5+"),
    )


class CreatableTopicResult(WireStruct, gc=False):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    error_code: int = 0
    error_message: str | None = ""
    topic_config_error_code: int = 0
    num_partitions: int = -1
    replication_factor: int = -1
    configs: list[CreatableTopicConfigs] | None = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("TopicId", "topic_id", "uuid", "7+", ignorable=True),
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("ErrorMessage", "error_message", "string", "1+", nullable="1+", ignorable=True),
        Field("TopicConfigErrorCode", "topic_config_error_code", "int16", "5+", tag=0, ignorable=True),
        Field("NumPartitions", "num_partitions", "int32", "5+", default=-1, ignorable=True),
        Field("ReplicationFactor", "replication_factor", "int16", "5+", default=-1, ignorable=True),
        Field("Configs", "configs", CreatableTopicConfigs, "5+", array=True, nullable="5+", ignorable=True),
    )


class CreateTopicsResponse(WireMessage, gc=False):
    """CreateTopicsResponse: response 19, versions 0-7, flexible 5+."""

    throttle_time_ms: int = 0
    topics: list[CreatableTopicResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "CreateTopicsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "2+", ignorable=True),
        Field("Topics", "topics", CreatableTopicResult, "0+", array=True),
        versions="0-7",
        flexible="5+",
        key=19,
    )
