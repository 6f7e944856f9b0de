"""The next block of producer ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from falkirk.protocol.messages import ProducerIdsRecord

NO_PRODUCER_IDS: Final = -1


class ProducerIdsImage(msgspec.Struct, frozen=True):
    """`next_producer_id` is -1 until the first block is allocated.

    Which broker got the last block is in the log only; as in Kafka, images and snapshots do not keep it.
    """

    next_producer_id: int = NO_PRODUCER_IDS


class ProducerIdsDelta:
    """Pending change of the next producer id."""

    def __init__(self, image: ProducerIdsImage) -> None:
        self.image = image
        self.next_producer_id = image.next_producer_id

    def replay_producer_ids(self, record: ProducerIdsRecord) -> None:
        """Set the next producer id."""
        self.next_producer_id = record.next_producer_id

    def apply(self) -> ProducerIdsImage:
        """Return the next image."""
        return ProducerIdsImage(self.next_producer_id)

    @classmethod
    def between(cls, before: ProducerIdsImage, after: ProducerIdsImage) -> ProducerIdsDelta:
        """Return the delta that leads from one image to the other."""
        delta = cls(before)
        delta.next_producer_id = after.next_producer_id
        return delta
