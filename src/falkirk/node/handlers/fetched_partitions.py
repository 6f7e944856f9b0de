"""What was read of partitions as the answer to Fetch tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.handlers.partition_leaders import current_leader, leader_node
from falkirk.protocol.down_conversion import NotConvertibleError, down_converted
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import FetchResponse
from falkirk.protocol.messages.fetch_response import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.node.fetch_sessions import FetchAnswer
    from falkirk.node.handlers.handler import NodeView
    from falkirk.node.handlers.partition_leaders import LeaderNode
    from falkirk.node.replication.fetch_params import PartitionFetched
    from falkirk.protocol.topic_partition import TopicIdPartition
    from falkirk.storage.log.unified_log import UnifiedLog

_MAGIC_1_SINCE: Final = 2
_MAGIC_2_SINCE: Final = 4
_STORAGE_ERROR_SINCE: Final = 6
_ZSTD_SINCE: Final = 10
_LEADER_HINTS_SINCE: Final = 16
_LEADER_ERRORS: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def refused_partition(partition_id: int, error: ErrorCode) -> PartitionData:
    """Give the answer for a partition of which nothing is read."""
    return PartitionData(partition_id, error, high_watermark=-1, records=b"")


def fetched_partition(
    view: NodeView,
    context: RequestContext,
    partition: TopicIdPartition,
    fetched: PartitionFetched,
    *,
    first_offset: int,
    leaders: dict[int, LeaderNode],
) -> PartitionData:
    """Give the answer for a partition; `leaders` takes up whom the client is sent to.

    `first_offset`: the one that was asked for.
    """
    version = context.api_version
    error = fetched.error_code
    if version < _ZSTD_SINCE and view.release.converts_messages and _is_zstd(view, partition):
        return refused_partition(partition.partition, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    records: bytes | memoryview = fetched.records
    if version < _MAGIC_2_SINCE and records:
        magic = 1 if version >= _MAGIC_1_SINCE else 0
        converted = _down_converted(view, partition, records, magic=magic, first_offset=first_offset)
        if isinstance(converted, ErrorCode):
            return refused_partition(partition.partition, converted)
        records = converted
    if error is ErrorCode.KAFKA_STORAGE_ERROR and version < _STORAGE_ERROR_SINCE:
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    aborted = fetched.aborted_transactions
    told = PartitionData(
        partition.partition,
        error,
        fetched.high_watermark,
        fetched.last_stable_offset,
        fetched.log_start_offset,
        aborted_transactions=None
        if aborted is None
        else [AbortedTransaction(each.producer_id, each.first_offset) for each in aborted],
        preferred_read_replica=fetched.preferred_read_replica,
        # Any buffer is written as it is.
        records=records,  # type: ignore[arg-type]
    )
    if fetched.diverging_epoch is not None:
        told.diverging_epoch = EpochEndOffset(fetched.diverging_epoch.epoch, fetched.diverging_epoch.end_offset)
    if error in _LEADER_ERRORS and version >= _LEADER_HINTS_SINCE:
        leader_id, leader_epoch = current_leader(view, partition.topic, partition.partition)
        told.current_leader = LeaderIdAndEpoch(leader_id, leader_epoch)
        node = leader_node(view, leader_id, context.listener)
        if node is not None:
            leaders[leader_id] = node
    return told


def response(answer: FetchAnswer, leaders: Mapping[int, LeaderNode]) -> FetchResponse:
    """Give the whole answer; partitions that follow on one another share their topic."""
    topics: list[FetchableTopicResponse] = []
    for key, told in answer.results.items():
        last = topics[-1] if topics else None
        if last is None or last.topic_id != key.topic_id or last.topic != key.topic:
            topics.append(FetchableTopicResponse(key.topic, key.topic_id, [told]))
        else:
            last.partitions.append(told)
    return FetchResponse(
        error_code=answer.error,
        session_id=answer.session_id,
        responses=topics,
        node_endpoints=[NodeEndpoint(*node) for node in leaders.values()],
    )


def _down_converted(
    view: NodeView, partition: TopicIdPartition, records: bytes | memoryview, *, magic: int, first_offset: int
) -> bytes | ErrorCode:
    """Give the records as old clients read them, or why they cannot have them."""
    log = _log(view, partition)
    if log is not None and not log.config.message_downconversion_enable:
        return ErrorCode.UNSUPPORTED_VERSION
    try:
        return down_converted(records, magic=magic, first_offset=first_offset)
    except NotConvertibleError:
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    except RemoteProtocolError:
        return ErrorCode.CORRUPT_MESSAGE


def _is_zstd(view: NodeView, partition: TopicIdPartition) -> bool:
    log = _log(view, partition)
    return log is not None and log.config.compression_type == "zstd"


def _log(view: NodeView, partition: TopicIdPartition) -> UnifiedLog | None:
    assert view.replicas is not None, "only brokers come here"
    log = view.replicas.log(partition.topic_partition)
    return None if isinstance(log, ErrorCode) else log
