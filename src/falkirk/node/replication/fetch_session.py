"""A follower's side of incremental fetch sessions: only what has changed is asked for again (KIP-227).

Source: FetchSessionHandler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic, ForgottenTopic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.protocol.messages import FetchResponse
    from falkirk.protocol.topic_partition import TopicIdPartition

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
_EPOCH_MAX: Final = 2**31 - 1


class Asked(NamedTuple):
    """What is asked of one partition."""

    fetch_offset: int
    log_start_offset: int
    bytes_max: int
    current_leader_epoch: int
    last_fetched_epoch: int


class FetchSession:
    """`partitions` has what the leader was last told of each partition, in the order of the session."""

    def __init__(self) -> None:
        self.session_id = NO_SESSION
        self.epoch = INITIAL_EPOCH
        self.partitions: dict[TopicIdPartition, Asked] = {}

    @property
    def is_full(self) -> bool:
        """Say whether the next request must tell everything."""
        return self.epoch == INITIAL_EPOCH

    def begin(self, partitions: Mapping[TopicIdPartition, Asked]) -> list[FetchTopic]:
        """Give the topics of a full request."""
        assert self.is_full
        self.partitions = dict(partitions)
        return _topics(self.partitions)

    def change(self, changed: Mapping[TopicIdPartition, Asked | None]) -> tuple[list[FetchTopic], list[ForgottenTopic]]:
        """Give what an incremental request tells; None: not to be fetched (now). What is as it was is left out."""
        told: dict[TopicIdPartition, Asked] = {}
        forgotten: list[TopicIdPartition] = []
        for partition, asked in changed.items():
            known = self.partitions.get(partition)
            if asked is None:
                if known is not None:
                    del self.partitions[partition]
                    forgotten.append(partition)
            elif asked != known:
                told[partition] = self.partitions[partition] = asked
        return _topics(told), _forgotten(forgotten)

    def take_response(self, response: FetchResponse) -> bool:
        """Take note of an answer; False: its partitions are not to be looked at."""
        if response.error_code:
            if response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self.session_id = NO_SESSION
            self.epoch = INITIAL_EPOCH
            return False
        if response.session_id == NO_SESSION:
            # The leader keeps no session (any more): the next request tells everything.
            self.session_id, self.epoch = NO_SESSION, INITIAL_EPOCH
        else:
            self.session_id = response.session_id
            self.epoch = 1 if self.epoch >= _EPOCH_MAX else self.epoch + 1
        return True

    def failed(self) -> None:
        """Begin anew: what the leader knows is not known; with the old id it can close that session."""
        self.epoch = INITIAL_EPOCH


def _topics(partitions: Mapping[TopicIdPartition, Asked]) -> list[FetchTopic]:
    topics: dict[bytes, FetchTopic] = {}
    for partition, asked in partitions.items():
        topic = topics.get(partition.topic_id)
        if topic is None:
            topic = topics[partition.topic_id] = FetchTopic(partition.topic, partition.topic_id, [])
        topic.partitions.append(
            FetchPartition(
                partition=partition.partition,
                current_leader_epoch=asked.current_leader_epoch,
                fetch_offset=asked.fetch_offset,
                last_fetched_epoch=asked.last_fetched_epoch,
                log_start_offset=asked.log_start_offset,
                partition_max_bytes=asked.bytes_max,
            )
        )
    return list(topics.values())


def _forgotten(partitions: Iterable[TopicIdPartition]) -> list[ForgottenTopic]:
    topics: dict[tuple[str, bytes], list[int]] = {}
    for partition in partitions:
        topics.setdefault((partition.topic, partition.topic_id), []).append(partition.partition)
    return [ForgottenTopic(name, topic_id, tuple(indexes)) for (name, topic_id), indexes in topics.items()]
