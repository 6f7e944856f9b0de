"""The reset of a follower's fetch offset that its leader does not have, by the leader's log end and start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsTopic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.node.broker.replication.followed_partition import FollowedPartition

LATEST_TIMESTAMP: Final = -1
EARLIEST_TIMESTAMP: Final = -2


@dataclass(slots=True, eq=False)
class FetchOffsetReset:
    """First to the leader's end: an unclean leader may end before us. Else its start is needed.

    If that is our end or above it, all of our records are gone there, and with them, maybe, the leader epochs by which
    it would compare the logs. If not, the leader has caught up since.
    """

    followed: "FollowedPartition"
    needs_start_offset: bool = False

    def apply(self, offset: int) -> bool:
        """Apply the leader's offset; return whether the reset is complete. Raises OSError if the disk fails."""
        log = self.followed.partition.log
        assert log is not None, "a partition without a log is not fetched"
        end_offset = log.log_end_offset
        if not self.needs_start_offset:
            if offset < end_offset:
                self.followed.restart(offset, is_empty=False)
                return True
            self.needs_start_offset = True
            return False
        if offset >= end_offset:
            self.followed.restart(offset, is_empty=True)
        else:
            self.followed.restart(end_offset, is_empty=False)
        return True

    @staticmethod
    def topics(resets: Iterable[FetchOffsetReset]) -> list[ListOffsetsTopic]:
        """Return the topics of a ListOffsets request."""
        topics: dict[str, ListOffsetsTopic] = {}
        for reset in resets:
            partition = reset.followed.partition.topic_partition
            topic = topics.setdefault(partition.topic, ListOffsetsTopic(partition.topic, []))
            topic.partitions.append(
                ListOffsetsPartition(
                    partition_index=partition.partition,
                    current_leader_epoch=reset.followed.leader_epoch,
                    timestamp=EARLIEST_TIMESTAMP if reset.needs_start_offset else LATEST_TIMESTAMP,
                )
            )
        return list(topics.values())
