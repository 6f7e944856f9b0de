"""A lowering of features that was worked out before its records are replayed, so that replaying them is short."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.metadata.levels.lowering import lower_others, lowering_target
from falkirk.protocol.messages import ClearElrRecord, PartitionChangeRecord

if TYPE_CHECKING:
    from falkirk.metadata.controller.state.broker_partitions import BrokerPartitions
    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.image.topics import TopicsImage
    from falkirk.metadata.levels.writer import LossReport
    from falkirk.protocol.schema import WireMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedLowering:
    """What the records of one feature update do to topics: they are `after` all of it.

    It holds for an image with these `topics` alone. `partitions`: the index of all partitions afterwards.
    """

    topics: "TopicsImage"
    after: "TopicsImage"
    report: "LossReport"
    partitions: "BrokerPartitions"

    def replay(self, delta: MetadataDelta, record: WireMessage) -> None:
        """Replay what a record does to everything but topics."""
        to = lowering_target(delta, record)
        if to is not None:
            lower_others(delta, delta.apply(delta.image.provenance), to, self.report)
            delta.clear_unknown_tags()
        elif isinstance(record, (PartitionChangeRecord, ClearElrRecord)):
            delta.add_unknown_tags(record)
        else:
            delta.replay(record)
