"""Fetched partitions in the form of a Fetch response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.handlers.parts.partition_leaders import current_leader, leader_node
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

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.broker.fetch_sessions import FetchAnswer
    from falkirk.node.broker.replication.fetch_params import PartitionFetched
    from falkirk.node.handlers.parts.partition_leaders import LeaderNode
    from falkirk.node.handlers.parts.view import BrokerView
    from falkirk.protocol.topic_partition import TopicIdPartition
    from falkirk.storage.log.unified_log import UnifiedLog

_MAGIC_1_SINCE: Final = 2
_MAGIC_2_SINCE: Final = 4
_STORAGE_ERROR_SINCE: Final = 6
_ZSTD_SINCE: Final = 10
_LEADER_HINTS_SINCE: Final = 16
_LEADER_ERRORS: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def refused_partition(partition_id: int, error: ErrorCode) -> PartitionData:
    """Return a partition of the response with an error and no records."""
    return PartitionData(partition_id, error, high_watermark=-1, records=b"")


def fetched_partition(
    view: BrokerView,
    context: RequestContext,
    partition: TopicIdPartition,
    fetched: PartitionFetched,
    *,
    first_offset: int,
    leaders: dict[int, LeaderNode],
) -> PartitionData:
    """Return a partition of the response; adds to `leaders` the leader that the client should use.

    `first_offset`: the fetch offset of the request.
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
    data = PartitionData(
        partition.partition,
        error,
        fetched.high_watermark,
        fetched.last_stable_offset,
        fetched.log_start_offset,
        aborted_transactions=None
        if aborted is None
        else [AbortedTransaction(each.producer_id, each.first_offset) for each in aborted],
        preferred_read_replica=fetched.preferred_read_replica,
        records=records,
    )
    if fetched.diverging_epoch is not None:
        data.diverging_epoch = EpochEndOffset(fetched.diverging_epoch.epoch, fetched.diverging_epoch.end_offset)
    if error in _LEADER_ERRORS and version >= _LEADER_HINTS_SINCE:
        leader_id, leader_epoch = current_leader(view, partition.topic, partition.partition)
        data.current_leader = LeaderIdAndEpoch(leader_id, leader_epoch)
        node = leader_node(view, leader_id, context.listener)
        if node is not None:
            leaders[leader_id] = node
    return data


def response(answer: FetchAnswer, leaders: Mapping[int, LeaderNode]) -> FetchResponse:
    """Return the whole response; adjacent partitions share their topic."""
    topics: list[FetchableTopicResponse] = []
    for key, data in answer.results.items():
        last = topics[-1] if topics else None
        if last is None or last.topic_id != key.topic_id or last.topic != key.topic:
            topics.append(FetchableTopicResponse(key.topic, key.topic_id, [data]))
        else:
            last.partitions.append(data)
    return FetchResponse(
        error_code=answer.error,
        session_id=answer.session_id,
        responses=topics,
        node_endpoints=[NodeEndpoint(*node) for node in leaders.values()],
    )


def _down_converted(
    view: BrokerView, partition: TopicIdPartition, records: bytes | memoryview, *, magic: int, first_offset: int
) -> bytes | ErrorCode:
    """Return the records in a format that old clients read, or the error if that is impossible."""
    log = _log(view, partition)
    if log is not None and not log.config.message_downconversion_enable:
        return ErrorCode.UNSUPPORTED_VERSION
    try:
        return down_converted(records, magic=magic, first_offset=first_offset)
    except NotConvertibleError:
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    except RemoteProtocolError:
        return ErrorCode.CORRUPT_MESSAGE


def _is_zstd(view: BrokerView, partition: TopicIdPartition) -> bool:
    log = _log(view, partition)
    return log is not None and log.config.compression_type == "zstd"


def _log(view: BrokerView, partition: TopicIdPartition) -> UnifiedLog | None:
    log = view.broker.replicas.log(partition.topic_partition)
    return None if isinstance(log, ErrorCode) else log
