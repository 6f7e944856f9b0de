"""Sends markers to the leaders of a transaction's partitions until they are written (TransactionMarkerChannelManager).

Markers of many transactions for one broker share a request, and one request is under way for each broker. What the
broker itself leads is written without a connection. A partition that no longer exists needs no marker; one without a
leader waits for the next image that has one.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.runtime.transaction_markers import TransactionMarkers  # noqa: TC001
from falkirk.node.broker.replication.context import endpoint_of
from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.node.effects import Fact
from falkirk.protocol.error_codes import ErrorCode, error_name
from falkirk.protocol.messages import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from falkirk.protocol.messages.write_txn_markers_request import WritableTxnMarker, WritableTxnMarkerTopic
from falkirk.protocol.topic_partition import TopicPartition, by_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeAlias

    from falkirk.node.broker.replication.context import ReplicationContext
    from falkirk.node.broker.transaction_coordinator.marker_writer import MarkerWriter
    from falkirk.node.connections.outbound_connections import OutboundConnections
    from falkirk.protocol.schema import WireMessage

    Results: TypeAlias = Mapping[TopicPartition, ErrorCode]

PARTITIONS_MAX: Final = 500
"""How many partitions a request has at most, and how many are written here in one step: some 25 milliseconds."""
RETRY_BACKOFF_MS: Final = 100
"""Kafka's `retry.backoff.ms` between brokers."""
PURPOSE: Final = "transaction-markers"
_NOWHERE: Final = -1
# What the coordinator has to know of; after any other error the marker is sent again.
_FINAL: Final = frozenset(
    (
        ErrorCode.NONE,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.TRANSACTION_COORDINATOR_FENCED,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.UNSUPPORTED_VERSION,
    )
)
# Errors of a partition that is led elsewhere, or cannot be written at the moment.
_EXPECTED: Final = frozenset(
    (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    )
)


@dataclass(slots=True, eq=False)
class _Sending:
    """The markers of one transaction. `is_wanted` is False once its shard is gone: the next leader sends them."""

    markers: TransactionMarkers
    is_wanted: "Callable[[], bool]"
    done: "Callable[[Results], None]"


_Entry = tuple[_Sending, TopicPartition]
_Batch = dict[_Sending, list[TopicPartition]]


@dataclass(slots=True, eq=False)
class _Destination:
    """The markers for one broker. `retry_at_ms`: after a failed request."""

    queue: deque[_Entry] = field(default_factory=deque)
    is_pending: bool = False
    retry_at_ms: int = 0


class MarkerSender:
    """`complete` is called before the step ends; `metadata_changed` when the context has a new image."""

    def __init__(
        self, context: ReplicationContext, outbound: OutboundConnections, writer: MarkerWriter, request_timeout_ms: int
    ) -> None:
        self._context = context
        self._outbound = outbound
        self._writer = writer
        self._request_timeout_ms = request_timeout_ms
        self._destinations: dict[int, _Destination] = {}
        # By partition without a leader.
        self._leaderless: dict[TopicPartition, list[_Sending]] = {}
        # By time, what was refused and is sent again.
        self._delayed: dict[int, list[_Entry]] = {}
        # Results that are not reported yet.
        self._results: dict[_Sending, dict[TopicPartition, ErrorCode]] = {}
        # How often each error was returned in this step.
        self._refusals: Counter[int] = Counter()

    def send(self, markers: TransactionMarkers, is_wanted: Callable[[], bool], done: Callable[[Results], None]) -> None:
        """Send the markers of a transaction; `done` gets the result of each partition once, in one or many calls.

        Without partitions it is called once. When `is_wanted` returns False the markers are dropped.
        """
        sending = _Sending(markers, is_wanted, done)
        if not markers.partitions:
            self._results[sending] = {}
        self._route([(sending, partition) for partition in markers.partitions])

    def metadata_changed(self) -> None:
        """Look for the leaders of partitions that had none."""
        for partition in list(self._leaderless):
            if self._leader(partition) != _NOWHERE:
                self._route([(sending, partition) for sending in self._leaderless.pop(partition)])

    def complete(self) -> None:
        """Send what is due, and report results."""
        now_ms = self._context.now_ms
        for due_ms in [due_ms for due_ms in self._delayed if due_ms <= now_ms]:
            self._route(self._delayed.pop(due_ms))
        for broker_id, destination in list(self._destinations.items()):
            if destination.queue and not destination.is_pending and destination.retry_at_ms <= now_ms:
                self._send_next(broker_id, destination)
        for error, count in self._refusals.items():
            level = "info" if error in _EXPECTED else "error"
            fields = {"reason": error_name(error), "markers": count}
            self._context.effects(Fact(level, "transaction-markers-refused", fields))
        self._refusals.clear()
        results, self._results = self._results, {}
        for sending, found in results.items():
            if sending.is_wanted():
                sending.done(found)

    @property
    def next_wakeup_ms(self) -> int | None:
        """When `complete` is due; None if nothing is scheduled."""
        if self._results:
            return self._context.now_ms
        times = [
            destination.retry_at_ms
            for destination in self._destinations.values()
            if destination.queue and not destination.is_pending
        ]
        return min((*times, *self._delayed), default=None)

    @property
    def counts(self) -> tuple[int, int]:
        """The number of markers whose partition has no leader, and of all others that are not under way."""
        queued = sum(len(destination.queue) for destination in self._destinations.values())
        return sum(map(len, self._leaderless.values())), queued + sum(map(len, self._delayed.values()))

    # --- Inside

    def _route(self, entries: Iterable[_Entry]) -> None:
        """Queue markers for the leaders of their partitions."""
        for entry in entries:
            sending, partition = entry
            if not sending.is_wanted():
                continue
            leader = self._leader(partition)
            if leader is None:
                self._results.setdefault(sending, {})[partition] = ErrorCode.NONE
            elif leader == _NOWHERE:
                self._leaderless.setdefault(partition, []).append(sending)
            else:
                self._destinations.setdefault(leader, _Destination()).queue.append(entry)

    def _leader(self, partition: TopicPartition) -> int | None:
        """Return the broker that leads a partition, _NOWHERE without one; None if there is no such partition."""
        found = self._context.image.topics.partition(*partition)
        if found is None:
            return None
        return found.leader if self._context.alive(found.leader) is not None else _NOWHERE

    def _send_next(self, broker_id: int, destination: _Destination) -> None:
        """Send the first markers in the queue; those of partitions that have moved go elsewhere."""
        batch: _Batch = {}
        moved: list[_Entry] = []
        for _ in range(min(len(destination.queue), PARTITIONS_MAX)):
            entry = destination.queue.popleft()
            sending, partition = entry
            if self._leader(partition) != broker_id:
                moved.append(entry)
            elif sending.is_wanted():
                batch.setdefault(sending, []).append(partition)
        self._route(moved)
        if not batch:
            return
        if broker_id == self._context.node_id:
            self._write(batch)
        else:
            self._request(broker_id, destination, batch)

    def _write(self, batch: _Batch) -> None:
        """Write the markers of partitions that this broker leads."""
        for sending, partitions in batch.items():
            marker = _marker(sending.markers)
            for partition in partitions:
                self._writer.write(marker, partition, partial(self._finish, sending, partition))

    def _request(self, broker_id: int, destination: _Destination, batch: _Batch) -> None:
        listener = self._context.settings.inter_broker_listener_name
        endpoint = endpoint_of(self._context, broker_id)
        if endpoint is None:
            self._fail(broker_id, destination, batch, f"it has no listener {listener}")
            return
        destination.is_pending = True
        self._outbound.send(
            PURPOSE,
            endpoint,
            WriteTxnMarkersRequest([_marker(sending.markers, partitions) for sending, partitions in batch.items()]),
            timeout_ms=self._request_timeout_ms,
            now_ms=self._context.now_ms,
            done=partial(self._answered, broker_id, destination, batch),
            listener=listener,
        )

    def _answered(
        self, broker_id: int, destination: _Destination, batch: _Batch, answer: WireMessage | RequestFailure
    ) -> None:
        destination.is_pending = False
        self._context.wake()
        if isinstance(answer, RequestFailure):
            self._fail(broker_id, destination, batch, answer.reason)
            return
        assert isinstance(answer, WriteTxnMarkersResponse), "a response to this request"
        errors = {
            (marker.producer_id, topic.name, result.partition_index): result.error_code
            for marker in answer.markers
            for topic in marker.topics
            for result in topic.partitions
        }
        for sending, partitions in batch.items():
            for partition in partitions:
                error = errors.get((sending.markers.producer_id, *partition), ErrorCode.UNKNOWN_SERVER_ERROR)
                self._finish(sending, partition, error)

    def _fail(self, broker_id: int, destination: _Destination, batch: _Batch, reason: str) -> None:
        """Queue the markers of a failed request again, for whoever leads their partitions by then."""
        destination.retry_at_ms = self._context.now_ms + RETRY_BACKOFF_MS
        fields = {"broker": broker_id, "transactions": len(batch), "reason": reason}
        self._context.effects(Fact("info", "transaction-markers-failed", fields))
        self._route([(sending, partition) for sending, partitions in batch.items() for partition in partitions])

    def _finish(self, sending: _Sending, partition: TopicPartition, error: int) -> None:
        """Keep a result to be reported, or the marker to be sent again."""
        if error in _FINAL:
            self._results.setdefault(sending, {})[partition] = ErrorCode(error)
            self._context.wake()
            return
        self._delayed.setdefault(self._context.now_ms + RETRY_BACKOFF_MS, []).append((sending, partition))
        self._refusals[error] += 1


def _marker(markers: TransactionMarkers, partitions: Iterable[TopicPartition] = ()) -> WritableTxnMarker:
    return WritableTxnMarker(
        producer_id=markers.producer_id,
        producer_epoch=markers.producer_epoch,
        transaction_result=markers.is_commit,
        topics=[WritableTxnMarkerTopic(name, tuple(indexes)) for name, indexes in by_topic(partitions).items()],
        coordinator_epoch=markers.coordinator_epoch,
        transaction_version=markers.transaction_version,
    )
