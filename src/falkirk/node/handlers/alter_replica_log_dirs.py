"""AlterReplicaLogDirs (key 34), v0-2: move replicas to other log directories of this broker. KIP-113.

Behaviour: needs ALTER on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED for all. UNKNOWN_TOPIC_OR_PARTITION for a partition
that is not there, REPLICA_NOT_AVAILABLE for a replica that is not on this broker (if it is created later, then in that
directory), LOG_DIR_NOT_FOUND, KAFKA_STORAGE_ERROR, INVALID_TOPIC_EXCEPTION for a name that is too long for a future
directory. The response is sent when the moves have begun.
Version notes: all versions have the same content.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.handler_result import AnswerLaterInSlices
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.messages import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse
from falkirk.protocol.messages.alter_replica_log_dirs_response import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirTopicResult,
)
from falkirk.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import Answer
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices


def handle(
    view: BrokerView, context: RequestContext, request: AlterReplicaLogDirsRequest
) -> WireMessage | AnswerLaterInSlices:
    """Start the moves."""
    refused = refusal(view, context, request, AclOperation.ALTER)
    if refused is not None:
        return refused
    return AnswerLaterInSlices(partial(_alter, view, request), is_exclusive=True)


def _alter(view: BrokerView, request: AlterReplicaLogDirsRequest, answer: Answer) -> Slices[None]:
    wanted = {
        TopicPartition(topic.name, partition): directory.path
        for directory in request.dirs
        for topic in directory.topics
        for partition in topic.partitions
    }
    results = yield from view.broker.replicas.alter_replica_log_dirs(wanted)
    topics: dict[str, AlterReplicaLogDirTopicResult] = {}
    for partition, error in results.items():
        topic = topics.get(partition.topic)
        if topic is None:
            topic = topics[partition.topic] = AlterReplicaLogDirTopicResult(partition.topic, [])
        topic.partitions.append(AlterReplicaLogDirPartitionResult(partition.partition, error))
    answer(AlterReplicaLogDirsResponse(results=list(topics.values())))


ROUTE: Final[Route[BrokerView, AlterReplicaLogDirsRequest]] = Route(BrokerView, AlterReplicaLogDirsRequest, handle)
