"""Tells the controller in which log directories replicas lie (Kafka's AssignmentsManager). Source: KIP-858.

One request at a time, with all that waits up to a limit; what a controller did not take over is told again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from falkirk.node.backoff import Backoff
from falkirk.node.effects import Fact
from falkirk.node.peers import PeerFailure
from falkirk.protocol.error_codes import ErrorCode, error_name
from falkirk.protocol.messages import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse
from falkirk.protocol.messages.assign_replicas_to_dirs_request import DirectoryData, PartitionData, TopicData

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.active_controller_channel import ActiveControllerChannel
    from falkirk.node.replication.context import ReplicationContext
    from falkirk.protocol.schema import WireMessage
    from falkirk.protocol.topic_partition import TopicIdPartition

# MAX_ASSIGNMENTS_PER_REQUEST of Kafka.
ASSIGNMENTS_MAX: Final = 2250
REQUEST_TIMEOUT_MS: Final = 30_000
BACKOFF_MS: Final = 100
BACKOFF_MAX_MS: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Assignment:
    directory_id: bytes
    done: Callable[[], None] | None


class DirectoryAssignments:
    """`channel` is to be one of its own."""

    def __init__(self, context: ReplicationContext, channel: ActiveControllerChannel) -> None:
        self._context = context
        self._channel = channel
        self._waiting: dict[TopicIdPartition, _Assignment] = {}
        self._backoff = Backoff(context.state.random, first_ms=BACKOFF_MS, max_ms=BACKOFF_MAX_MS)
        self._is_pending = False
        self._next_ms = 0

    def assign(self, partition: TopicIdPartition, directory_id: bytes, done: Callable[[], None] | None = None) -> None:
        """See to it that the controller learns where a replica lies; `done` is called when it has taken that over.

        Whatever was to be told of the replica before is not told any more.
        """
        self._waiting[partition] = _Assignment(directory_id, done)
        self._context.state.has_work = True

    def forget(self, partition: TopicIdPartition) -> None:
        """Tell nothing of a replica that is gone."""
        self._waiting.pop(partition, None)

    def tick(self) -> None:
        """Send what waits."""
        context = self._context
        if self._is_pending or not self._waiting or context.now_ms < self._next_ms or context.broker_epoch < 0:
            return
        sent = dict(islice(self._waiting.items(), ASSIGNMENTS_MAX))

        def answered(answer: WireMessage | PeerFailure) -> None:
            self._answered(sent, answer)

        request = _request(context.node_id, context.broker_epoch, sent)
        self._is_pending = True
        if not self._channel.send(request, timeout_ms=REQUEST_TIMEOUT_MS, done=answered):
            self._is_pending = False
            self._next_ms = context.now_ms + BACKOFF_MS

    @property
    def next_wakeup_ms(self) -> int | None:
        """When `tick` has something to do."""
        return self._next_ms if self._waiting and not self._is_pending else None

    def _answered(self, sent: dict[TopicIdPartition, _Assignment], answer: WireMessage | PeerFailure) -> None:
        self._is_pending = False
        if isinstance(answer, PeerFailure):
            self._failed(answer.reason)
            return
        assert isinstance(answer, AssignReplicasToDirsResponse), "the answer to what was asked"
        if answer.error_code:
            self._failed(error_name(answer.error_code))
            return
        errors = {
            (topic.topic_id, partition.partition_index): partition.error_code
            for directory in answer.directories
            for topic in directory.topics
            for partition in topic.partitions
        }
        self._backoff.reset()
        self._next_ms = self._context.now_ms
        for key, assignment in sent.items():
            if self._waiting.get(key) is not assignment:
                continue
            error = errors.get((key.topic_id, key.partition), ErrorCode.UNKNOWN_SERVER_ERROR)
            if error == ErrorCode.NONE:
                del self._waiting[key]
                if assignment.done is not None:
                    assignment.done()
            elif error in _NO_REPLICA:
                del self._waiting[key]
            else:
                self._failed(f"{key.topic_partition}: {error_name(error)}")

    def _failed(self, reason: str) -> None:
        self._next_ms = self._context.now_ms + self._backoff.next_ms()
        self._context.effects(Fact("info", "directory-assignment-failed", {"reason": reason}))


# There is no such replica any more: the metadata that says so is on its way.
_NO_REPLICA: Final = frozenset(
    (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER)
)


def _request(
    broker_id: int, broker_epoch: int, assignments: dict[TopicIdPartition, _Assignment]
) -> AssignReplicasToDirsRequest:
    directories: dict[bytes, dict[bytes, TopicData]] = {}
    for key, assignment in assignments.items():
        topics = directories.setdefault(assignment.directory_id, {})
        topic = topics.get(key.topic_id)
        if topic is None:
            topic = topics[key.topic_id] = TopicData(key.topic_id, [])
        topic.partitions.append(PartitionData(key.partition))
    return AssignReplicasToDirsRequest(
        broker_id=broker_id,
        broker_epoch=broker_epoch,
        directories=[DirectoryData(directory, list(topics.values())) for directory, topics in directories.items()],
    )
