"""What a follower does whose offset the leader does not have: it asks where the leader's log ends and begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsTopic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.node.replication.followed_partition import FollowedPartition

LATEST_TIMESTAMP: Final = -1
EARLIEST_TIMESTAMP: Final = -2


@dataclass(slots=True, eq=False)
class OffsetReset:
    """First the leader's end: an unclean leader may end before us. Else we are before its start, or were too fast."""

    followed: FollowedPartition
    asks_for_start: bool = False

    def take(self, offset: int) -> bool:
        """Take the answer; give whether that was all. Raises OSError if the disk fails."""
        log = self.followed.partition.log
        assert log is not None, "a partition without a log is not fetched"
        end_offset = log.log_end_offset
        if not self.asks_for_start:
            if offset < end_offset:
                self.followed.restart(offset, is_empty=False)
                return True
            self.asks_for_start = True
            return False
        if offset > end_offset:
            self.followed.restart(offset, is_empty=True)
        else:
            self.followed.restart(end_offset, is_empty=False)
        return True

    @staticmethod
    def topics(resets: Iterable[OffsetReset]) -> list[ListOffsetsTopic]:
        """Give what is to be asked."""
        topics: dict[str, ListOffsetsTopic] = {}
        for reset in resets:
            partition = reset.followed.partition.topic_partition
            topic = topics.setdefault(partition.topic, ListOffsetsTopic(partition.topic, []))
            topic.partitions.append(
                ListOffsetsPartition(
                    partition_index=partition.partition,
                    current_leader_epoch=reset.followed.leader_epoch,
                    timestamp=EARLIEST_TIMESTAMP if reset.asks_for_start else LATEST_TIMESTAMP,
                )
            )
        return list(topics.values())
