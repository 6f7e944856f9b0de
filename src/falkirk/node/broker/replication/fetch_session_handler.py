"""A follower's side of incremental fetch sessions: requests have changes only (KIP-227).

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


class RequestedPartition(NamedTuple):
    """What is requested of one partition."""

    fetch_offset: int
    log_start_offset: int
    bytes_max: int
    current_leader_epoch: int
    last_fetched_epoch: int


class FetchSessionHandler:
    """`partitions`: what the leader was last sent for each partition, in the order of the session."""

    def __init__(self) -> None:
        self.session_id = NO_SESSION
        self.epoch = INITIAL_EPOCH
        self.partitions: dict[TopicIdPartition, RequestedPartition] = {}

    @property
    def is_full(self) -> bool:
        """True if the next request must have all partitions."""
        return self.epoch == INITIAL_EPOCH

    def next_request(
        self, changed: Mapping[TopicIdPartition, RequestedPartition | None]
    ) -> tuple[list[FetchTopic], list[ForgottenTopic]]:
        """Return the topics of the next request; None: do not fetch (now). Unchanged partitions are left out.

        A full request begins the session with these partitions alone.
        """
        if self.is_full:
            self.partitions = {}
        sent: dict[TopicIdPartition, RequestedPartition] = {}
        forgotten: list[TopicIdPartition] = []
        for partition, requested in changed.items():
            known = self.partitions.get(partition)
            if requested is None:
                if known is not None:
                    del self.partitions[partition]
                    forgotten.append(partition)
            elif requested != known:
                sent[partition] = self.partitions[partition] = requested
        return _topics(sent), _forgotten(forgotten)

    def receive_response(self, response: FetchResponse) -> bool:
        """Follow the session of a response; return False if its partitions must be ignored."""
        if response.error_code:
            if response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self.session_id = NO_SESSION
            self.epoch = INITIAL_EPOCH
            return False
        if response.session_id == NO_SESSION:
            # The leader keeps no session (any more): the next request is a full one.
            self.session_id, self.epoch = NO_SESSION, INITIAL_EPOCH
        else:
            self.session_id = response.session_id
            self.epoch = 1 if self.epoch >= _EPOCH_MAX else self.epoch + 1
        return True

    def failed(self) -> None:
        """Send a full request next: what the leader has is unknown. With the old id it can close that session."""
        self.epoch = INITIAL_EPOCH


def _topics(partitions: Mapping[TopicIdPartition, RequestedPartition]) -> list[FetchTopic]:
    topics: dict[bytes, FetchTopic] = {}
    for partition, requested in partitions.items():
        topic = topics.get(partition.topic_id)
        if topic is None:
            topic = topics[partition.topic_id] = FetchTopic(partition.topic, partition.topic_id, [])
        topic.partitions.append(
            FetchPartition(
                partition=partition.partition,
                current_leader_epoch=requested.current_leader_epoch,
                fetch_offset=requested.fetch_offset,
                last_fetched_epoch=requested.last_fetched_epoch,
                log_start_offset=requested.log_start_offset,
                partition_max_bytes=requested.bytes_max,
            )
        )
    return list(topics.values())


def _forgotten(partitions: Iterable[TopicIdPartition]) -> list[ForgottenTopic]:
    topics: dict[tuple[str, bytes], list[int]] = {}
    for partition in partitions:
        topics.setdefault((partition.topic, partition.topic_id), []).append(partition.partition)
    return [ForgottenTopic(name, topic_id, tuple(indexes)) for (name, topic_id), indexes in topics.items()]
