"""The partitions of a broker (Kafka's ReplicaManager)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.replication.fetch_params import FetchParams, FetchPartition, PartitionFetched
    from falkirk.protocol.topic_partition import TopicIdPartition, TopicPartition
    from falkirk.storage.log.append import AppendOrigin, RecordError
    from falkirk.storage.log.log_manager import LogManager
    from falkirk.storage.log.unified_log import UnifiedLog


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionProduced:
    """What is answered for one partition. `error_message` only with KIP-467's versions."""

    error_code: ErrorCode = ErrorCode.NONE
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: tuple[RecordError, ...] = ()
    error_message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsDeleted:
    """What is answered for one partition of DeleteRecords."""

    error_code: ErrorCode = ErrorCode.NONE
    low_watermark: int = -1


class ReplicaManager:
    """Appends to and reads from the partitions that this broker has; keeps them as the image wants them.

    Topic ids are resolved by the callers, and their authorizations done. `done` is called exactly once, at once or in
    a later step, unless the broker stops.
    """

    logs: LogManager

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Become what the image says: lead, follow, make, move and delete replicas."""
        raise NotImplementedError

    def append_records(
        self,
        records: Mapping[TopicIdPartition, bytes | memoryview],
        *,
        required_acks: int,
        timeout_ms: int,
        origin: AppendOrigin,
        are_internal_topics_allowed: bool,
        done: Callable[[Mapping[TopicIdPartition, PartitionProduced]], None],
    ) -> None:
        """Append as the leader; with `required_acks` -1 the answer waits for the high watermark, or `timeout_ms`."""
        raise NotImplementedError

    def fetch_records(
        self,
        params: FetchParams,
        partitions: Sequence[tuple[TopicIdPartition, FetchPartition]],
        done: Callable[[Sequence[tuple[TopicIdPartition, PartitionFetched]]], None],
    ) -> None:
        """Read, at once if `min_bytes` are there, or anything is to be told; else wait up to `max_wait_ms`.

        Of a follower's fetch it notes how far it is, and moves high watermarks and in-sync replicas.
        """
        raise NotImplementedError

    def leader_log(self, partition: TopicPartition, leader_epoch: int = -1) -> UnifiedLog | ErrorCode:
        """Give the log of a partition that this broker leads, or the error that says why not.

        NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR, FENCED_LEADER_EPOCH,
        UNKNOWN_LEADER_EPOCH.
        """
        raise NotImplementedError

    def log(self, partition: TopicPartition) -> UnifiedLog | ErrorCode:
        """Give the log of a partition that this broker has, whoever leads it."""
        raise NotImplementedError

    def delete_records(
        self,
        offsets: Mapping[TopicPartition, int],
        *,
        timeout_ms: int,
        done: Callable[[Mapping[TopicPartition, RecordsDeleted]], None],
    ) -> None:
        """Move log starts (-1: to the high watermark), and wait until all replicas have moved theirs."""
        raise NotImplementedError

    def alter_replica_log_dirs(self, wanted: Mapping[TopicPartition, str]) -> Mapping[TopicPartition, ErrorCode]:
        """Begin to move replicas to other log directories, by path (KIP-113)."""
        raise NotImplementedError

    def tick(self) -> None:
        """Do what time has made due: expired waits, lagging followers, fetches, checkpoints, housekeeping."""
        raise NotImplementedError

    @property
    def next_wakeup_ms(self) -> int | None:
        """When `tick` has something to do."""
        raise NotImplementedError

    def shutdown(self) -> None:
        """Stop following, close the logs."""
        raise NotImplementedError
