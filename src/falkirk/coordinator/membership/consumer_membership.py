"""A member of a consumer group (KIP-848): one request, ConsumerGroupHeartbeat (68), for all its life.

What it has to give up it gives up at once, and tells so with the next heartbeat; only then does it get more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.membership.membership import RETRY_BACKOFF_MS, Membership
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from falkirk.protocol.messages.consumer_group_heartbeat_request import TopicPartitions
from falkirk.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.coordinator.membership.membership import Versions
    from falkirk.protocol.messages.consumer_group_heartbeat_response import Assignment
    from falkirk.protocol.schema import WireMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings:
    """`topics` or `regex`; times in ms. `server_assignor` None: the broker's first."""

    group_id: str
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    rebalance_timeout_ms: int = 300_000
    server_assignor: str | None = None
    instance_id: str | None = None
    rack_id: str | None = None


class ConsumerMembership(Membership):
    """`member_id`: made by the client (v1), or "" where the coordinator makes it (v0).

    `name_of` gives the name of a topic id, None while it is not known: then the member waits with what it was given.
    """

    def __init__(self, settings: ConsumerSettings, *, member_id: str, name_of: Callable[[bytes], str | None]) -> None:
        super().__init__(settings.group_id, member_id)
        self._settings = settings
        self._name_of = name_of
        self._epoch = _JOINING
        self._owned: frozenset[_Owned] = frozenset()
        self._target: frozenset[_Owned] = frozenset()
        # What was told last of what it owns; None: nothing since it joined.
        self._told: frozenset[_Owned] | None = None
        self._interval_ms = _DEFAULT_INTERVAL_MS
        self._is_full = True

    @property
    def epoch(self) -> int:
        """The member epoch; below 1 while it has not joined, or has left."""
        return self._epoch

    def answered(self, response: WireMessage, now_ms: int) -> None:
        """Take the answer to the last heartbeat."""
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        self._is_asking = False
        error = response.error_code
        if self._is_put_off(error, now_ms):
            self._is_full = True
        elif self._is_leaving:
            self.has_left = True
            self._epoch = _LEFT
        elif error in _FENCED:
            self._join_anew(now_ms)
        elif error == ErrorCode.UNRELEASED_INSTANCE_ID:
            self._next_ms = now_ms + RETRY_BACKOFF_MS
        elif error != ErrorCode.NONE:
            self.failure = ErrorCode(error)
            self._own(frozenset())
        else:
            self._accepted(response, now_ms)

    def lost(self, now_ms: int) -> None:
        """Take note that the last heartbeat was not answered; the next one says everything."""
        super().lost(now_ms)
        self._is_full = True

    def leave(self) -> None:
        """Wish to leave; what it reads it gives up at once."""
        super().leave()
        self._own(frozenset())

    @property
    def _is_known(self) -> bool:
        return self._epoch > _JOINING

    def _request(self) -> ConsumerGroupHeartbeatRequest:
        settings = self._settings
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group_id, member_id=self.member_id, member_epoch=self._epoch, instance_id=settings.instance_id
        )
        if self._is_full or self._epoch == _JOINING:
            request.rack_id = settings.rack_id
            request.rebalance_timeout_ms = settings.rebalance_timeout_ms
            request.subscribed_topic_names = settings.topics
            request.subscribed_topic_regex = settings.regex
            request.server_assignor = settings.server_assignor
        if self._is_full or self._told != self._owned:
            request.topic_partitions = _by_topic(self._owned)
            self._told = self._owned
        self._is_full = False
        return request

    def _farewell(self, versions: Versions) -> ConsumerGroupHeartbeatRequest:  # noqa: ARG002 - both have the same fields
        instance = self._settings.instance_id
        return ConsumerGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=_LEFT if instance is None else _LEFT_FOR_A_WHILE,
            instance_id=instance,
        )

    def _accepted(self, response: ConsumerGroupHeartbeatResponse, now_ms: int) -> None:
        if response.member_id is not None:
            self.member_id = response.member_id
        self._epoch = response.member_epoch
        self._interval_ms = response.heartbeat_interval_ms
        if response.assignment is not None:
            self._target = _flat(response.assignment)
        known = frozenset(each for each in self._target if self._name_of(each[0]) is not None)
        self._own(known)
        # What was given up or taken up is told at once: others may wait for it.
        self._next_ms = now_ms if self._told != self._owned else now_ms + self._interval_ms

    def _join_anew(self, now_ms: int) -> None:
        self._own(frozenset())
        self._target = frozenset()
        self._told = None
        self._epoch = _JOINING
        self._is_full = True
        self._next_ms = now_ms

    def _own(self, owned: frozenset[_Owned]) -> None:
        self._owned = owned
        names = {topic_id: self._name_of(topic_id) for topic_id, _ in owned}
        self.assigned = frozenset(
            TopicPartition(name, partition) for topic_id, partition in owned if (name := names[topic_id]) is not None
        )


_Owned = tuple[bytes, int]
_JOINING: Final = 0
_LEFT: Final = -1
_LEFT_FOR_A_WHILE: Final = -2
_DEFAULT_INTERVAL_MS: Final = 5_000
_FENCED: Final = frozenset({ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID})


def _flat(assignment: Assignment) -> frozenset[_Owned]:
    return frozenset(
        (topic.topic_id, partition) for topic in assignment.topic_partitions for partition in topic.partitions
    )


def _by_topic(owned: frozenset[_Owned]) -> list[TopicPartitions]:
    topics: dict[bytes, list[int]] = {}
    for topic_id, partition in sorted(owned):
        topics.setdefault(topic_id, []).append(partition)
    return [TopicPartitions(topic_id, tuple(partitions)) for topic_id, partitions in topics.items()]
