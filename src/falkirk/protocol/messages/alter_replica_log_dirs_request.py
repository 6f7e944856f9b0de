"""Generated from schemas/messages/api/34_AlterReplicaLogDirs.schema by tools/generate_messages.py: do not edit."""

from __future__ import annotations

from typing import ClassVar

from falkirk.protocol.schema import Field, MessageSchema, StructSchema, UnknownTaggedFields, WireMessage, WireStruct


class AlterReplicaLogDirTopic(WireStruct, gc=False):
    name: str = ""
    partitions: tuple[int, ...] = ()
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Name", "name", "string", "0+"),
        Field("Partitions", "partitions", "int32", "0+", array=True),
    )


class AlterReplicaLogDir(WireStruct, gc=False):
    path: str = ""
    topics: list[AlterReplicaLogDirTopic] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        Field("Path", "path", "string", "0+"),
        Field("Topics", "topics", AlterReplicaLogDirTopic, "0+", array=True),
    )


class AlterReplicaLogDirsRequest(WireMessage, gc=False):
    """AlterReplicaLogDirsRequest: request 34, versions 0-2, flexible 2+."""

    dirs: list[AlterReplicaLogDir] = []
    unknown_tagged_fields: UnknownTaggedFields = ()

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        "AlterReplicaLogDirsRequest",
        "request",
        Field("Dirs", "dirs", AlterReplicaLogDir, "0+", array=True),
        versions="0-2",
        flexible="2+",
        key=34,
    )
