"""Sends ISR changes to the active controller (Kafka's AlterPartitionManager).

One request at a time, with the pending changes, one per partition. A change stays pending until a controller responds,
even if its partition has changed and ignores the response. Source: KIP-497, KIP-841, KIP-903.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from falkirk.node.broker.replication.isr import AlteredIsr
from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.node.effects import Fact
from falkirk.protocol.error_codes import ErrorCode, error_name, known_error
from falkirk.protocol.messages import AlterPartitionRequest, AlterPartitionResponse
from falkirk.protocol.messages.alter_partition_request import BrokerState, PartitionData, TopicData

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.broker.replication.context import ReplicationContext
    from falkirk.node.broker.replication.isr import ProposedIsr
    from falkirk.node.connections.active_controller_channel import ActiveControllerChannel
    from falkirk.protocol.schema import WireMessage
    from falkirk.protocol.topic_partition import TopicIdPartition, TopicPartition

# controller.socket.timeout.ms; as in Kafka the request is then sent again.
REQUEST_TIMEOUT_MS: Final = 30_000
RETRY_BACKOFF_MS: Final = 50
CHANGES_MAX: Final = 1_000
"""How many changes a request has, Kafka's has all: some 10 ms, when its answer is applied too."""
# Lower versions have no broker epochs in the ISR.
_EPOCHS_SINCE: Final = 3


@dataclass(frozen=True, slots=True)
class _Change:
    partition: "TopicIdPartition"
    proposed: "ProposedIsr"
    done: "Callable[[AlteredIsr | ErrorCode], None]"


class AlterPartitionSender:
    """The pending ISR changes of this broker."""

    def __init__(self, context: ReplicationContext, channel: ActiveControllerChannel) -> None:
        self._context = context
        self._channel = channel
        self._waiting: dict[TopicPartition, _Change] = {}
        self._is_pending = False
        self._next_ms = 0

    def submit(
        self, partition: TopicIdPartition, proposed: ProposedIsr, done: Callable[[AlteredIsr | ErrorCode], None]
    ) -> None:
        """Send a change; `done` gets the controller's result for the partition.

        It is OPERATION_NOT_ATTEMPTED at once if a change of the partition is pending.
        """
        key = partition.topic_partition
        if key in self._waiting:
            done(ErrorCode.OPERATION_NOT_ATTEMPTED)
            return
        self._waiting[key] = _Change(partition, proposed, done)
        self._context.wake()

    def tick(self) -> None:
        """Send pending changes, of very many some."""
        context = self._context
        if self._is_pending or not self._waiting or context.now_ms < self._next_ms:
            return
        changes = list(islice(self._waiting.values(), CHANGES_MAX))

        def answered(answer: WireMessage | RequestFailure) -> None:
            self._answered(changes, answer)

        self._is_pending = True
        if not self._channel.send(
            _request(context.node_id, context.broker_epoch, changes),
            timeout_ms=REQUEST_TIMEOUT_MS,
            done=answered,
            fit=_fit,
        ):
            self._is_pending = False
            self._next_ms = context.now_ms + RETRY_BACKOFF_MS

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next `tick` is due; None if nothing is scheduled."""
        return self._next_ms if self._waiting and not self._is_pending else None

    def _answered(self, changes: list[_Change], answer: WireMessage | RequestFailure) -> None:
        self._is_pending = False
        if isinstance(answer, RequestFailure):
            self._failed(answer.reason)
            return
        assert isinstance(answer, AlterPartitionResponse), "a response to this request"
        if answer.error_code:
            self._failed(error_name(answer.error_code))
            return
        self._next_ms = self._context.now_ms
        found = {
            (topic.topic_id, partition.partition_index): partition
            for topic in answer.topics
            for partition in topic.partitions
        }
        for change in changes:
            partition = found.get((change.partition.topic_id, change.partition.partition))
            if partition is None:
                # It stays pending.
                self._failed(f"nothing was said of {change.partition.topic_partition}")
                continue
            del self._waiting[change.partition.topic_partition]
            if partition.error_code:
                self._refused(change, partition.error_code)
            else:
                change.done(
                    AlteredIsr(
                        isr=tuple(partition.isr),
                        leader_epoch=partition.leader_epoch,
                        partition_epoch=partition.partition_epoch,
                        leader_recovery_state=partition.leader_recovery_state,
                    )
                )

    def _refused(self, change: _Change, error_code: int) -> None:
        fields = {"partition": str(change.partition.topic_partition), "reason": error_name(error_code)}
        self._context.effects(Fact("info", "isr-change-refused", fields))
        # An immediate retry would be refused again.
        self._next_ms = self._context.now_ms + RETRY_BACKOFF_MS
        change.done(known_error(error_code))

    def _failed(self, reason: str) -> None:
        self._next_ms = self._context.now_ms + RETRY_BACKOFF_MS
        self._context.effects(Fact("info", "isr-change-failed", {"reason": reason}))


def _request(broker_id: int, broker_epoch: int, changes: list[_Change]) -> AlterPartitionRequest:
    topics: dict[bytes, TopicData] = {}
    for change in changes:
        topic = topics.setdefault(
            change.partition.topic_id, TopicData(change.partition.topic, change.partition.topic_id, [])
        )
        proposed = change.proposed
        topic.partitions.append(
            PartitionData(
                partition_index=change.partition.partition,
                leader_epoch=proposed.leader_epoch,
                new_isr_with_epochs=[BrokerState(broker, epoch) for broker, epoch in proposed.brokers.items()],
                leader_recovery_state=proposed.leader_recovery_state,
                partition_epoch=proposed.partition_epoch,
            )
        )
    return AlterPartitionRequest(broker_id=broker_id, broker_epoch=broker_epoch, topics=list(topics.values()))


def _fit(request: WireMessage, api_version: int) -> None:
    """Write the ISR in the form of a version."""
    assert isinstance(request, AlterPartitionRequest)
    if api_version < _EPOCHS_SINCE:
        for topic in request.topics:
            for partition in topic.partitions:
                partition.new_isr = tuple(broker.broker_id for broker in partition.new_isr_with_epochs)
                partition.new_isr_with_epochs = []
