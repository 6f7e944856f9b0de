"""`partition.metadata` of a partition: the id of its topic (KIP-516)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.protocol.errors import LocalProtocolError
from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.uuid import parse_uuid, uuid_text
from falkirk.storage.errors import CorruptFileError, InconsistentTopicIdError
from falkirk.storage.integer_text import parse_integer

if TYPE_CHECKING:
    from falkirk.protocol.topic_partition import TopicPartition
    from falkirk.storage.disk import Disk

FILE_NAME = "partition.metadata"
_FORM = re.compile(rb"version:[ \t]+([+-]?[0-9]+)(?:\r\n|\r|\n)topic_id:[ \t]+([\x21-\x7e]+)(?:\r\n|\r|\n|\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMetadata:
    """Version 0 is the only one; Kafka reads higher ones alike."""

    topic_id: bytes
    version: int = 0


def parse_partition_metadata(data: bytes, *, file: str = FILE_NAME) -> PartitionMetadata:
    """Read the file. Raises CorruptFileError if a line is malformed, the version negative or the id zero."""
    match = _FORM.match(data)
    if match is None:
        raise CorruptFileError("lines `version: N` and `topic_id: ID` were expected", offset=0, file=file)
    version = parse_integer(match.group(1).decode(), what="version", bits=32, offset=match.start(1), file=file)
    if version < 0:
        raise CorruptFileError(f"version is {version}, 0 was expected", offset=match.start(1), file=file)
    try:
        topic_id = parse_uuid(match.group(2).decode())
    except LocalProtocolError as error:
        raise CorruptFileError(f"topic_id: {error}", offset=match.start(2), file=file) from error
    if topic_id == ZERO_UUID:
        raise CorruptFileError("topic_id is the zero id", offset=match.start(2), file=file)
    return PartitionMetadata(topic_id=topic_id, version=version)


def format_partition_metadata(metadata: PartitionMetadata) -> bytes:
    """Write the file; as in Kafka the last line has no end."""
    return f"version: {metadata.version}\ntopic_id: {uuid_text(metadata.topic_id)}".encode()


def check_topic_id(disk: Disk, path: str, partition: TopicPartition, topic_id: bytes) -> bytes:
    """Return the topic id of a log's directory, written if it has none. Raises InconsistentTopicIdError."""
    if disk.exists(path):
        found = parse_partition_metadata(disk.read(path), file=path).topic_id
        if topic_id not in (ZERO_UUID, found):
            raise InconsistentTopicIdError(f"the log of {partition} belongs to another topic of that name ({path})")
        return found
    if topic_id != ZERO_UUID:
        metadata = PartitionMetadata(topic_id=topic_id)
        disk.write(path, [format_partition_metadata(metadata)])
    return topic_id
