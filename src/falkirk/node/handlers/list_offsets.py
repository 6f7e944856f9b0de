"""ListOffsets (key 2), v0-11: offsets by timestamp, first and last ones. KIP-79, KIP-207, KIP-320, KIP-734, KIP-405.

Behaviour: needs DESCRIBE on each topic, else TOPIC_AUTHORIZATION_FAILED for it. The leader answers, for a debugging
client (replica id -2) any replica: NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR,
FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH. INVALID_REQUEST for a partition that is named twice. Consumers see nothing
beyond the high watermark, or the first open transaction; OFFSET_NOT_AVAILABLE while the high watermark of a new leader
is below the start of its epoch.
Special timestamps: -1 the end, -2 the start, -3 (v7) the record with the largest timestamp, -4 (v8) the start of what
is local, -5 (v9) the end of what is in remote storage, -6 (v11) the first offset still to be uploaded; the last two are
unknown here, as in a Kafka without remote storage. Other negative ones are UNSUPPORTED_VERSION.
Version notes: v0 returns a list of offsets, those of segments; v1 one offset and its timestamp; v2 adds isolation, v4
leader epochs; below v5 LEADER_NOT_AVAILABLE stands for OFFSET_NOT_AVAILABLE; v10 adds a timeout for remote storage.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.node.handlers.parts.handler_result import AnswerInSlices
from falkirk.node.handlers.parts.partition_leaders import current_leader
from falkirk.node.handlers.parts.route import PARTITION_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ListOffsetsRequest, ListOffsetsResponse
from falkirk.protocol.messages.list_offsets_response import ListOffsetsPartitionResponse, ListOffsetsTopicResponse
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.slices import DECISION_VISITS, SliceBudget
from falkirk.storage.log.read import TimestampOffset

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.messages.list_offsets_request import ListOffsetsPartition
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices
    from falkirk.storage.log.unified_log import UnifiedLog

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6

CONSUMER: Final = -1
DEBUGGING_CONSUMER: Final = -2

_NO_TIMESTAMP: Final = -1
_READ_COMMITTED: Final = 1
_NAMED_SINCE: Final[Mapping[int, int]] = {
    LATEST: 0,
    EARLIEST: 0,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
_EPOCHS_SINCE: Final = 4
_OFFSET_NOT_AVAILABLE_SINCE: Final = 5
_NEVER: Final = 2**15
_NO_EPOCH: Final = -1
# Found whatever the high watermark is; and those that may equal the visible end.
_CERTAIN: Final = (EARLIEST, EARLIEST_LOCAL)
_BOUNDS: Final = (LATEST, EARLIEST, EARLIEST_LOCAL)


def handle(view: BrokerView, context: RequestContext, request: ListOffsetsRequest) -> AnswerInSlices:
    """Look up the offsets."""
    return AnswerInSlices(_looked_up(view, context, request))


def _looked_up(view: BrokerView, context: RequestContext, request: ListOffsetsRequest) -> Slices[WireMessage]:
    budget = SliceBudget()
    counts: Counter[TopicPartition] = Counter()
    for partition, _ in _requested(request):
        counts[partition] += 1
        if budget.spend(1):
            yield
    topics: dict[str, ListOffsetsTopicResponse] = {}
    answered: set[TopicPartition] = set()
    for partition, requested in _requested(request):
        # A timestamp may be looked up in the index and in a batch.
        if budget.spend(DECISION_VISITS):
            yield
        if partition in answered:
            continue
        answered.add(partition)
        topic = topics.get(partition.topic)
        if topic is None:
            topic = topics[partition.topic] = ListOffsetsTopicResponse(partition.topic, [])
        if not view.authorizer.is_allowed(context, AclOperation.DESCRIBE, ResourceType.TOPIC, partition.topic):
            found = _error(requested, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        elif counts[partition] > 1:
            found = _error(requested, ErrorCode.INVALID_REQUEST)
        elif requested.timestamp < 0 and context.api_version < _NAMED_SINCE.get(requested.timestamp, _NEVER):
            found = _error(requested, ErrorCode.UNSUPPORTED_VERSION)
        else:
            found = _answered(view, context, request, partition, requested)
        topic.partitions.append(found)
    return ListOffsetsResponse(topics=list(topics.values()))


def _requested(request: ListOffsetsRequest) -> Iterator[tuple[TopicPartition, ListOffsetsPartition]]:
    for topic in request.topics:
        for requested in topic.partitions:
            yield TopicPartition(topic.name, requested.partition_index), requested


def _error(requested: ListOffsetsPartition, error: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(requested.partition_index, error)


def _log(
    view: BrokerView, request: ListOffsetsRequest, partition: TopicPartition, requested: ListOffsetsPartition
) -> UnifiedLog | ErrorCode:
    """Return the leader's log, for debugging that of any replica."""
    if request.replica_id == DEBUGGING_CONSUMER:
        return view.broker.replicas.log(partition)
    return view.broker.replicas.leader_log(partition, requested.current_leader_epoch)


def _answered(
    view: BrokerView,
    context: RequestContext,
    request: ListOffsetsRequest,
    partition: TopicPartition,
    requested: ListOffsetsPartition,
) -> ListOffsetsPartitionResponse:
    log = _log(view, request, partition, requested)
    if isinstance(log, ErrorCode):
        return _error(requested, log)
    try:
        if context.api_version == 0:
            return _find_old_style(log, request, requested, view.now_ms)
        return _find(log, context, request, requested, leader_epoch=current_leader(view, *partition)[1])
    except OSError as error:
        view.broker.replicas.disk_failed(log, error)
        return _error(requested, ErrorCode.KAFKA_STORAGE_ERROR)


def _find(
    log: UnifiedLog,
    context: RequestContext,
    request: ListOffsetsRequest,
    requested: ListOffsetsPartition,
    *,
    leader_epoch: int,
) -> ListOffsetsPartitionResponse:
    """Return an offset with its timestamp."""
    visible_end = _visible_end(log, request)
    is_behind = request.replica_id == CONSUMER and _epoch_start(log, leader_epoch) > log.high_watermark
    found = _offset(log, requested.timestamp, leader_epoch, visible_end)
    is_certain = requested.timestamp in _CERTAIN or (found is not None and found.offset < visible_end)
    if is_behind and not is_certain:
        is_known = context.api_version >= _OFFSET_NOT_AVAILABLE_SINCE
        return _error(requested, ErrorCode.OFFSET_NOT_AVAILABLE if is_known else ErrorCode.LEADER_NOT_AVAILABLE)
    if found is None or (found.offset >= visible_end and requested.timestamp not in _BOUNDS):
        return _error(requested, ErrorCode.NONE)
    has_epoch = found.leader_epoch is not None and context.api_version >= _EPOCHS_SINCE
    return ListOffsetsPartitionResponse(
        requested.partition_index,
        timestamp=found.timestamp,
        offset=found.offset,
        leader_epoch=found.leader_epoch if has_epoch and found.leader_epoch is not None else _NO_EPOCH,
    )


def _visible_end(log: UnifiedLog, request: ListOffsetsRequest) -> int:
    if request.replica_id != CONSUMER:
        return log.log_end_offset
    return log.last_stable_offset if request.isolation_level == _READ_COMMITTED else log.high_watermark


def _epoch_start(log: UnifiedLog, leader_epoch: int) -> int:
    """Return the first offset of the leader's epoch in its log, which is the end of the epoch before."""
    before = log.end_offset_for_epoch(leader_epoch - 1) if leader_epoch > 0 else None
    return 0 if before is None else before.offset


def _offset(log: UnifiedLog, timestamp: int, leader_epoch: int, visible_end: int) -> TimestampOffset | None:
    if timestamp == LATEST:
        return TimestampOffset(timestamp=_NO_TIMESTAMP, offset=visible_end, leader_epoch=leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        start = log.log_start_offset
        return TimestampOffset(timestamp=_NO_TIMESTAMP, offset=start, leader_epoch=log.epoch_of(start))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return TimestampOffset(timestamp=_NO_TIMESTAMP, offset=-1, leader_epoch=_NO_EPOCH)
    if timestamp == MAX_TIMESTAMP:
        return log.offset_of_max_timestamp()
    return log.offset_for_timestamp(timestamp)


def _find_old_style(
    log: UnifiedLog, request: ListOffsetsRequest, requested: ListOffsetsPartition, now_ms: int
) -> ListOffsetsPartitionResponse:
    """Return base offsets of segments and the log's end, in descending order from the last one of at most that time.

    Consumers get the high watermark in place of all offsets above it. Source: UnifiedLog.legacyFetchOffsetsBefore and
    Partition.legacyFetchOffsetsForTimestamp.
    """
    starts = log.segment_starts(now_ms)
    if requested.timestamp == EARLIEST:
        del starts[1:]
    elif requested.timestamp != LATEST:
        while starts and starts[-1].timestamp > requested.timestamp:
            starts.pop()
    offsets = [start.offset for start in reversed(starts)][: max(0, requested.max_num_offsets)]
    if request.replica_id == CONSUMER and any(offset > log.high_watermark for offset in offsets):
        offsets = [log.high_watermark, *(offset for offset in offsets if offset <= log.high_watermark)]
    return ListOffsetsPartitionResponse(requested.partition_index, old_style_offsets=tuple(offsets))


ROUTE: Final[Route[BrokerView, ListOffsetsRequest]] = Route(
    BrokerView, ListOffsetsRequest, handle, elements_max=PARTITION_ELEMENTS_MAX
)
