"""The logs of all brokers after their last steps, and the newest image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.image.partition import Partition
    from falkirk.simulation.history.data_history import DataHistory, PartitionKey


@dataclass(frozen=True, slots=True)
class Seen:
    """The offsets and leadership of a log after the broker's last step."""

    start: int = 0
    end: int = 0
    high_watermark: int = 0
    led_epoch: int | None = None


class ClusterLogs:
    """`image`: the newest that any node has published. `seen`: logs by broker, including brokers that are down.

    `suspects`: by partition, brokers that lost power while in the ISR or ELR, and have not left it since. `started`:
    the same of brokers that have started again.
    """

    def __init__(self, history: DataHistory) -> None:
        self.history = history
        self.image: MetadataImage | None = None
        self.seen: dict[tuple[int, PartitionKey], Seen] = {}
        self.suspects: dict[PartitionKey, set[int]] = {}
        self.started: dict[PartitionKey, set[int]] = {}

    def partition(self, key: PartitionKey) -> Partition | None:
        """Return the newest state of a partition; None if the partition does not exist (any more)."""
        if self.image is None:
            return None
        topic = self.image.topics.topic_by_id(key.topic_id)
        return None if topic is None else topic.partition(key.partition)
