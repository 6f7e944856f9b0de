"""Reports the log directories of replicas to the controller (Kafka's AssignmentsManager). Source: KIP-858.

One request at a time, with all pending assignments up to a limit; what a controller did not accept is sent again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from falkirk.node.connections.backoff import Backoff
from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.node.effects import Fact
from falkirk.protocol.error_codes import ErrorCode, error_name
from falkirk.protocol.messages import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse
from falkirk.protocol.messages.assign_replicas_to_dirs_request import DirectoryData, PartitionData, TopicData

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.broker.replication.context import ReplicationContext
    from falkirk.node.connections.active_controller_channel import ActiveControllerChannel
    from falkirk.protocol.schema import WireMessage
    from falkirk.protocol.topic_partition import TopicIdPartition

# MAX_ASSIGNMENTS_PER_REQUEST of Kafka.
ASSIGNMENTS_MAX: Final = 2250
REQUEST_TIMEOUT_MS: Final = 30_000
BACKOFF_MS: Final = 100
BACKOFF_MAX_MS: Final = 10_000
# The replica does not exist any more; the next image says so.
_NO_REPLICA: Final = frozenset(
    (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER)
)


@dataclass(frozen=True, slots=True)
class _Assignment:
    directory_id: bytes
    done: "Callable[[], None] | None"


class DirectoryAssignments:
    """`channel` must not be shared."""

    def __init__(self, context: ReplicationContext, channel: ActiveControllerChannel) -> None:
        self._context = context
        self._channel = channel
        self._waiting: dict[TopicIdPartition, _Assignment] = {}
        self._backoff = Backoff(context.random, first_ms=BACKOFF_MS, max_ms=BACKOFF_MAX_MS)
        self._is_pending = False
        self._next_ms = 0

    def assign(self, partition: TopicIdPartition, directory_id: bytes, done: Callable[[], None] | None = None) -> None:
        """Report a replica's directory; `done` is called when the controller has accepted it.

        It replaces a pending assignment of the replica.
        """
        self._waiting[partition] = _Assignment(directory_id, done)
        self._context.wake()

    def forget(self, partition: TopicIdPartition) -> None:
        """Drop the pending assignment of a deleted replica."""
        self._waiting.pop(partition, None)

    def tick(self) -> None:
        """Send pending assignments."""
        context = self._context
        if self._is_pending or not self._waiting or context.now_ms < self._next_ms or context.broker_epoch < 0:
            return
        sent = dict(islice(self._waiting.items(), ASSIGNMENTS_MAX))

        def answered(answer: WireMessage | RequestFailure) -> None:
            self._answered(sent, answer)

        request = _request(context.node_id, context.broker_epoch, sent)
        self._is_pending = True
        if not self._channel.send(request, timeout_ms=REQUEST_TIMEOUT_MS, done=answered):
            self._is_pending = False
            self._next_ms = context.now_ms + BACKOFF_MS

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next `tick` is due; None if nothing is scheduled."""
        return self._next_ms if self._waiting and not self._is_pending else None

    def _answered(self, sent: dict[TopicIdPartition, _Assignment], answer: WireMessage | RequestFailure) -> None:
        self._is_pending = False
        if isinstance(answer, RequestFailure):
            self._failed(answer.reason)
            return
        assert isinstance(answer, AssignReplicasToDirsResponse), "a response to this request"
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
