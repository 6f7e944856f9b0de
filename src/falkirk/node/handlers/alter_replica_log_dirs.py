"""AlterReplicaLogDirs (key 34), v0-2: replicas move to other log directories of this broker. KIP-113.

Behaviour: needs ALTER on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED for all. REPLICA_NOT_AVAILABLE for a replica that
is not here (a new one will be made in that directory), LOG_DIR_NOT_FOUND, KAFKA_STORAGE_ERROR,
INVALID_TOPIC_EXCEPTION for a name that is too long to be moved. The answer comes when the moves have begun.
Version notes: they have all the same content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.cluster_authorization import refusal
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.protocol.messages import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse
from falkirk.protocol.messages.alter_replica_log_dirs_response import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirTopicResult,
)
from falkirk.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> WireMessage:
    """Begin the moves."""
    assert isinstance(request, AlterReplicaLogDirsRequest)
    assert view.replicas is not None, "only brokers serve it"
    refused = refusal(view, context, request, AclOperation.ALTER)
    if refused is not None:
        return refused
    wanted = {
        TopicPartition(topic.name, partition): directory.path
        for directory in request.dirs
        for topic in directory.topics
        for partition in topic.partitions
    }
    topics: dict[str, AlterReplicaLogDirTopicResult] = {}
    for partition, error in view.replicas.alter_replica_log_dirs(wanted).items():
        topic = topics.get(partition.topic)
        if topic is None:
            topic = topics[partition.topic] = AlterReplicaLogDirTopicResult(partition.topic, [])
        topic.partitions.append(AlterReplicaLogDirPartitionResult(partition.partition, error))
    return AlterReplicaLogDirsResponse(results=list(topics.values()))


ROUTE: Final = Route(api_key=34, handler=handle, needs_controller=False)
