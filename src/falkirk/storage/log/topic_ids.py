"""Which topic a log belongs to: `partition.metadata` in its directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol.schema import ZERO_UUID
from falkirk.storage import partition_metadata
from falkirk.storage.errors import InconsistentTopicIdError

if TYPE_CHECKING:
    from falkirk.protocol.topic_partition import TopicPartition
    from falkirk.storage.disk import Disk


def check_topic_id(disk: Disk, path: str, partition: TopicPartition, topic_id: bytes) -> bytes:
    """Give the topic's id; its file is written if it is not there. Raises InconsistentTopicIdError."""
    if disk.exists(path):
        found = partition_metadata.parse_partition_metadata(disk.read(path), file=path).topic_id
        if topic_id not in (ZERO_UUID, found):
            raise InconsistentTopicIdError(f"the log of {partition} belongs to another topic of that name ({path})")
        return found
    if topic_id != ZERO_UUID:
        metadata = partition_metadata.PartitionMetadata(topic_id=topic_id)
        disk.write(path, [partition_metadata.format_partition_metadata(metadata)])
    return topic_id
