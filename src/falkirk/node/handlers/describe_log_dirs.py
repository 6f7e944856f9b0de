"""DescribeLogDirs (key 35), v0-5: this broker's log directories, and the sizes of its replicas. KIP-113, KIP-827.

Behaviour: needs DESCRIBE on CLUSTER, else no results and, from v3 on, CLUSTER_AUTHORIZATION_FAILED. KAFKA_STORAGE_ERROR
for a directory that is offline; its space is that of its file system. Null topics: all replicas; those that are not on
this broker are left out.
Version notes: v3 adds a top-level error, v4 the space of each directory, v5 whether it is cordoned (KIP-1066).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import is_cluster_operation_allowed
from falkirk.node.handlers.parts.handler_result import AnswerInSlices
from falkirk.node.handlers.parts.route import PARTITION_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import DescribeLogDirsRequest, DescribeLogDirsResponse
from falkirk.protocol.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.slices import DECISION_VISITS, SliceBudget
from falkirk.storage.partition_directory import DirectoryState

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.broker.replication.replica_manager import ReplicaManager
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices
    from falkirk.storage.log.unified_log import UnifiedLog

_NO_LAG: Final = -1


def handle(
    view: BrokerView, context: RequestContext, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse | AnswerInSlices:
    """Describe the directories."""
    if not is_cluster_operation_allowed(view, context, AclOperation.DESCRIBE):
        return DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return AnswerInSlices(_described(view, request))


def _described(view: BrokerView, request: DescribeLogDirsRequest) -> Slices[WireMessage]:
    replicas, budget = view.broker.replicas, SliceBudget()
    wanted: set[TopicPartition] | None = None
    if request.topics is not None:
        wanted = set()
        for topic in request.topics:
            for index in topic.partitions:
                wanted.add(TopicPartition(topic.topic, index))
                if budget.spend(1):
                    yield
    topics: dict[str, dict[str, DescribeLogDirsTopic]] = {}
    # Those of now: replicas come and go between the slices.
    for log in list(replicas.logs.logs()) if replicas.is_started else ():
        if budget.spend(DECISION_VISITS):
            yield
        if wanted is None or log.topic_partition in wanted:
            log_dir, _, name = log.directory.rpartition("/")
            _add(topics.setdefault(log_dir, {}), replicas, log, is_future=name.endswith(DirectoryState.FUTURE.value))
    return DescribeLogDirsResponse(
        results=[
            DescribeLogDirsResult(
                error_code=state.error,
                log_dir=log_dir,
                topics=[] if state.error else list(topics.get(log_dir, {}).values()),
                total_bytes=state.total_bytes,
                usable_bytes=state.usable_bytes,
                is_cordoned=state.is_cordoned,
            )
            for log_dir, state in replicas.log_dirs().items()
        ]
    )


def _add(
    topics: dict[str, DescribeLogDirsTopic], replicas: ReplicaManager, log: UnifiedLog, *, is_future: bool
) -> None:
    name, partition_id = log.topic_partition
    topic = topics.get(name)
    if topic is None:
        topic = topics[name] = DescribeLogDirsTopic(name, [])
    topic.partitions.append(DescribeLogDirsPartition(partition_id, log.size, _lag(replicas, log), is_future))


def _lag(replicas: ReplicaManager, log: UnifiedLog) -> int:
    """Return the lag: of a future log behind the current one, of a current one behind the high watermark; or -1."""
    current = replicas.log(log.topic_partition)
    if isinstance(current, ErrorCode):
        return _NO_LAG
    if current is not log:
        return current.log_end_offset - log.log_end_offset
    return max(0, log.high_watermark - log.log_end_offset)


ROUTE: Final[Route[BrokerView, DescribeLogDirsRequest]] = Route(
    BrokerView, DescribeLogDirsRequest, handle, elements_max=PARTITION_ELEMENTS_MAX
)
