"""Generated from schemas/messages/api/35_DescribeLogDirs.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class DescribeLogDirsPartition(WireStruct, gc=False):
    partition_index: int = 0
    partition_size: int = 0
    offset_lag: int = 0
    is_future_key: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("PartitionIndex", "partition_index", "int32", "0+"),
        Field("PartitionSize", "partition_size", "int64", "0+"),
        Field("OffsetLag", "offset_lag", "int64", "0+"),
        Field("IsFutureKey", "is_future_key", "bool", "0+"),
    )


class DescribeLogDirsTopic(WireStruct, gc=False):
    name: str = ""
    partitions: list[DescribeLogDirsPartition] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Partitions", "partitions", DescribeLogDirsPartition, "0+", array=True),
    )


class DescribeLogDirsResult(WireStruct, gc=False):
    error_code: int = 0
    log_dir: str = ""
    topics: list[DescribeLogDirsTopic] = []
    total_bytes: int = -1
    usable_bytes: int = -1
    is_cordoned: bool = False
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("ErrorCode", "error_code", "int16", "0+"),
        Field("LogDir", "log_dir", "string", "0+"),
        Field("Topics", "topics", DescribeLogDirsTopic, "0+", array=True),
        Field("TotalBytes", "total_bytes", "int64", "4+", default=-1, ignorable=True),
        Field("UsableBytes", "usable_bytes", "int64", "4+", default=-1, ignorable=True),
        Field("IsCordoned", "is_cordoned", "bool", "5+", ignorable=True),
    )


class DescribeLogDirsResponse(WireMessage, gc=False):
    """DescribeLogDirsResponse: response 35, versions 0-5, flexible 2+."""

    throttle_time_ms: int = 0
    error_code: int = 0
    results: list[DescribeLogDirsResult] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "DescribeLogDirsResponse",
        "response",
        Field("ThrottleTimeMs", "throttle_time_ms", "int32", "0+"),
        Field("ErrorCode", "error_code", "int16", "3+", ignorable=True),
        Field("Results", "results", DescribeLogDirsResult, "0+", array=True),
        versions="0-5",
        flexible="2+",
        key=35,
    )
