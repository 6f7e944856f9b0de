"""Transaction markers in the partitions that this broker leads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.coordinator.runtime.outcome import Producer
from falkirk.node.broker.coordinator_runtime.record_batches import end_marker
from falkirk.node.broker.group_coordinator.operation_errors import marker_error
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.topic_partition import TopicIdPartition
from falkirk.storage.log.append import AppendOrigin
from falkirk.versions.release import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.node.broker.group_coordinator.group_coordinator import GroupCoordinator
    from falkirk.node.broker.replication.answers import PartitionProduced
    from falkirk.node.broker.replication.replica_manager import ReplicaManager
    from falkirk.protocol.messages.write_txn_markers_request import WritableTxnMarker
    from falkirk.protocol.topic_partition import TopicPartition


class MarkerWriter:
    """Writes the markers of WriteTxnMarkers, of other brokers and of this one's own coordinator."""

    def __init__(self, replicas: ReplicaManager, groups: GroupCoordinator, request_timeout_ms: int) -> None:
        self._replicas = replicas
        self._groups = groups
        self._request_timeout_ms = request_timeout_ms

    def write(self, marker: WritableTxnMarker, partition: TopicPartition, done: Callable[[ErrorCode], None]) -> None:
        """End a producer's transaction in a partition; `done` gets the result when the marker is committed."""
        topic = self._replicas.image.topics.topic(partition.topic)
        found = None if topic is None else topic.partition(partition.partition)
        if topic is None or found is None or self._replicas.context.config.node_id not in found.replicas:
            done(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return
        producer, is_commit = Producer(marker.producer_id, marker.producer_epoch), marker.transaction_result
        if partition.topic == CONSUMER_OFFSETS:
            self._groups.end_transaction(
                partition.partition,
                producer,
                marker.coordinator_epoch,
                lambda error: done(marker_error(error)),
                is_commit=is_commit,
                transaction_version=marker.transaction_version,
            )
            return
        key = TopicIdPartition(topic.topic_id, *partition)

        def appended(produced: Mapping[TopicIdPartition, PartitionProduced]) -> None:
            done(produced[key].error_code)

        now_ms = self._replicas.context.now_ms
        self._replicas.append_records(
            {key: end_marker(producer, marker.coordinator_epoch, now_ms, is_commit=is_commit)},
            required_acks=-1,
            timeout_ms=self._request_timeout_ms,
            origin=AppendOrigin.COORDINATOR,
            are_internal_topics_allowed=True,
            transaction_version=marker.transaction_version,
            done=appended,
        )
