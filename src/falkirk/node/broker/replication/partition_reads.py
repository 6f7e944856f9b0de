"""Reads one partition for a fetch: access, divergence, and the records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.node.broker.replication.fetch_params import DivergingEpoch, PartitionFetched
from falkirk.node.broker.replication.quiet_partition import QuietPartition
from falkirk.protocol.error_codes import ErrorCode
from falkirk.storage.log.read import FetchIsolation, OffsetOutOfRangeError

if TYPE_CHECKING:
    from falkirk.node.broker.replication.fetch_params import FetchParams, FetchPartition
    from falkirk.node.broker.replication.hosted_partition import HostedPartition
    from falkirk.storage.log.unified_log import UnifiedLog


def read_partition(
    partition: HostedPartition,
    params: FetchParams,
    requested: FetchPartition,
    *,
    bytes_max: int,
    is_one_batch_needed: bool,
    updates_follower: bool,
) -> PartitionFetched:
    """Read at most `bytes_max`; update the follower's state if `updates_follower`.

    Raises OSError if the disk fails. Source: Partition.fetchRecords.
    """
    error, log = readable_log(partition, params, requested)
    if log is None:
        return PartitionFetched(error_code=error)
    replica = partition.remote_replicas.get(params.replica_id) if params.is_from_follower else None
    if params.is_from_follower and replica is None:
        # The epochs agree, so the follower may have been added in an image newer than ours: it must retry.
        is_new = requested.current_leader_epoch >= 0
        return PartitionFetched(
            error_code=ErrorCode.UNKNOWN_LEADER_EPOCH if is_new else ErrorCode.NOT_LEADER_OR_FOLLOWER
        )
    # Taken before the read: later appends must not keep a follower from being in sync.
    end_offset = log.log_end_offset
    high_watermark, stable_offset, start_offset = log.high_watermark, log.last_stable_offset, log.log_start_offset
    records: bytes | memoryview = b""
    aborted = None
    diverging = None
    try:
        diverging = diverging_epoch(log, requested)
        if diverging is None:
            read = log.read(
                requested.fetch_offset, bytes_max, params.isolation, is_one_batch_needed=is_one_batch_needed
            )
            records, aborted = read.records, read.aborted_transactions
    except OffsetOutOfRangeError:
        return PartitionFetched(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    if replica is not None and updates_follower and diverging is None:
        error = partition.follower_fetched(
            replica,
            requested.fetch_offset,
            requested.log_start_offset,
            end_offset=end_offset,
            broker_epoch=params.replica_epoch,
        )
        if error is not ErrorCode.NONE:
            return PartitionFetched(error_code=error)
    is_quiet = diverging is None and not records and requested.fetch_offset >= visible_end(log, params.isolation)
    return PartitionFetched(
        high_watermark=high_watermark,
        last_stable_offset=stable_offset,
        log_start_offset=start_offset,
        # As it was before this fetch moved anything, if it did: then the next one reads again.
        quiet=QuietPartition.of(partition) if is_quiet and log.high_watermark == high_watermark else None,
        records=records,
        aborted_transactions=aborted,
        diverging_epoch=diverging,
    )


def readable_log(
    partition: HostedPartition, params: FetchParams, requested: FetchPartition
) -> tuple[ErrorCode, UnifiedLog | None]:
    """Return the log, or the error if it may not be read."""
    error = partition.leader_epoch_error(requested.current_leader_epoch)
    if error is not ErrorCode.NONE:
        return error, None
    if (params.is_leader_only or params.is_from_follower) and not partition.is_leader:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER, None
    if partition.log is None:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER, None
    return ErrorCode.NONE, partition.log


def diverging_epoch(log: UnifiedLog, requested: FetchPartition) -> DivergingEpoch | None:
    """Return where the reader's log diverges from this one; None if it does not, or its last epoch is unknown.

    Raises OffsetOutOfRangeError if that cannot be determined, or the offset is before the log's start.
    """
    epoch = requested.last_fetched_epoch
    if epoch < 0:
        return None
    end = log.end_offset_for_epoch(epoch)
    if end is None or requested.fetch_offset < log.log_start_offset:
        raise OffsetOutOfRangeError
    if end.epoch < epoch or end.offset < requested.fetch_offset:
        return DivergingEpoch(epoch=end.epoch, end_offset=end.offset)
    return None


def visible_end(log: UnifiedLog, isolation: FetchIsolation) -> int:
    """Return the end offset that a reader may see."""
    if isolation is FetchIsolation.LOG_END:
        return log.log_end_offset
    return log.high_watermark if isolation is FetchIsolation.HIGH_WATERMARK else log.last_stable_offset
