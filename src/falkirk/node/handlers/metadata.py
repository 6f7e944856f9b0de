"""Metadata (key 3), v0-13: brokers, topics, and who leads their partitions. KIP-4, KIP-430, KIP-516, KIP-590, KIP-1102.

Behaviour: brokers tell what they know of; endpoints are those of the listener where the request came in, fenced brokers
are left out. The controller is any broker that is alive: every broker passes on what is for the controller. Needs
DESCRIBE on a topic, else TOPIC_AUTHORIZATION_FAILED for it, whether it is there or not; who asks for all topics is told
those that it may see. A topic that is not there is UNKNOWN_TOPIC_OR_PARTITION, or INVALID_TOPIC_EXCEPTION if it could
not be; meanwhile it is created if asker and auto.create.topics.enable want that (needs CREATE on CLUSTER or on the
topic). A partition has LEADER_NOT_AVAILABLE without a leader that is registered.
Differs from Kafka: topics and brokers are sorted; the controller is chosen anew when the answer is made, which the same
request gets as long as neither topics nor brokers change; a topic without name and id is INVALID_REQUEST.
Version notes: v0 has no null for all topics (an empty list is that), leaves out replicas that are offline, and says so
(REPLICA_NOT_AVAILABLE); v1 adds controller, racks and internal topics; v2 the cluster's id; v4 says whether topics may
be created; v5 offline replicas; from v6 on a leader without this listener is LISTENER_NOT_FOUND, before
LEADER_NOT_AVAILABLE; v7 leader epochs; v8 to v10 the operations that the asker may do with the cluster; v8 those with
topics; v10 tells topic ids, v12 may ask by id (UNKNOWN_TOPIC_ID), names besides do not count then; v13 adds an error
for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.metadata.controller.topic_names import why_invalid
from falkirk.node.handlers.authorized_operations import authorized_cluster_operations, authorized_topic_operations
from falkirk.node.handlers.broker_endpoints import NO_NODE, BrokerEndpoints, broker_endpoints
from falkirk.node.handlers.cluster_authorization import is_cluster_operation_allowed
from falkirk.node.handlers.encoded_topics import encode_response, encode_topic, encoded_topics
from falkirk.node.handlers.handler import EncodedResponse, NodeView, Route
from falkirk.node.handlers.topic_authorization import allowed_topics
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import MetadataRequest, MetadataResponse
from falkirk.protocol.messages.metadata_response import (
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from falkirk.protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.image.topic import Topic
    from falkirk.protocol.schema import WireMessage

API_KEY: Final = 3
_ASKS_BY_ID_SINCE: Final = 12
_TELLS_LISTENER_NOT_FOUND_SINCE: Final = 6
TELLS_OPERATIONS_SINCE: Final = 8
TELLS_CLUSTER_OPERATIONS: Final = range(8, 11)


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> WireMessage | EncodedResponse:
    """Tell what is asked for, and see to it that what is not there comes to be."""
    assert isinstance(request, MetadataRequest)
    version = context.api_version
    reason = why_unanswerable(request, version)
    if reason is not None:
        return error_response(request, version, ErrorCode.INVALID_REQUEST, reason)
    answer = _Answer(view, context, request)
    if request.topics is None or (version == 0 and not request.topics):
        answer.add_all()
    else:
        answer.add_asked([(topic.name, topic.topic_id) for topic in request.topics])
    # Before a client is authenticated it must not be answered unread, and what one may see is not for another.
    is_own = view.authorizer.is_configured or answer.creates_topics or context.security_protocol.startswith("SASL")
    return EncodedResponse(answer.body(), is_for_all=not is_own)


def why_unanswerable(request: MetadataRequest, version: int) -> str | None:
    """Say why a request is INVALID_REQUEST as a whole; None if it is not."""
    for topic in request.topics or ():
        if version < _ASKS_BY_ID_SINCE and topic.topic_id != ZERO_UUID:
            return f"Topic IDs are not supported in requests for version {version}"
        if topic.name is None and topic.topic_id == ZERO_UUID:
            return f"Topic name can not be null for version {version}"
    return None


class _Answer:
    """An answer: topics that are there come first, then the others, each in the order of the request."""

    def __init__(self, view: NodeView, context: RequestContext, request: MetadataRequest) -> None:
        self.creates_topics = False
        self._view = view
        self._context = context
        self._request = request
        self._topics = view.image.topics
        self._brokers = broker_endpoints(view.image.cluster, context.listener)
        self._found: list[bytes] = []
        self._refused: list[MetadataResponseTopic] = []

    def add_all(self) -> None:
        """Tell all topics that may be seen."""
        names = sorted(self._topics.by_name)
        if self._view.authorizer.is_configured:
            allowed = allowed_topics(self._view, self._context, AclOperation.DESCRIBE, names)
            names = [name for name in names if name in allowed]
        self._add_found(self._topics.by_name[name] for name in names)

    def add_asked(self, asked: list[tuple[str | None, bytes]]) -> None:
        """Tell these topics, given by name or id; if there is an id, names do not count."""
        ids = {topic_id: None for _, topic_id in asked if topic_id != ZERO_UUID}
        if not ids:
            self._add_names({name: None for name, _ in asked if name is not None})
            return
        known = {topic_id: self._topics.names[topic_id] for topic_id in ids if topic_id in self._topics.names}
        allowed = allowed_topics(self._view, self._context, AclOperation.DESCRIBE, known.values())
        self._add_found(self._topics.by_name[name] for name in known.values() if name in allowed)
        for topic_id in ids:
            if topic_id not in known:
                self._refuse(None, ErrorCode.UNKNOWN_TOPIC_ID, topic_id)
            elif known[topic_id] not in allowed:
                self._refuse(None, ErrorCode.TOPIC_AUTHORIZATION_FAILED, topic_id)

    def body(self) -> bytes:
        """Give the whole."""
        view, version = self._view, self._context.api_version
        assert view.random is not None, "a node has its chance"
        response = MetadataResponse(
            brokers=[
                MetadataResponseBroker(broker.broker_id, broker.host, broker.port, broker.rack)
                for broker in self._brokers.alive
            ],
            cluster_id=view.cluster_id,
            controller_id=self._brokers.random_alive(view.random),
        )
        if version in TELLS_CLUSTER_OPERATIONS and self._request.include_cluster_authorized_operations:
            response.cluster_authorized_operations = authorized_cluster_operations(view, self._context)
        refused = [encode_topic(topic, version) for topic in self._refused]
        return encode_response(response, self._found + refused, version)

    def _add_names(self, names: Iterable[str]) -> None:
        view, context = self._view, self._context
        allowed = allowed_topics(view, context, AclOperation.DESCRIBE, names)
        found, missing = [], []
        for name in names:
            if name not in allowed:
                self._refuse(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                continue
            topic = self._topics.topic(name)
            if topic is None:
                missing.append(name)
            else:
                found.append(topic)
        self._add_found(found)
        creation = view.topic_creation if self._request.allow_auto_topic_creation else None
        if missing and creation is not None and creation.is_enabled:
            self.creates_topics = True
            may_create = self._creatable(missing)
            creation.create([name for name in missing if name in may_create and why_invalid(name) is None], context)
            for name in missing:
                if name not in may_create:
                    self._refuse(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            missing = [name for name in missing if name in may_create]
        for name in missing:
            self._add_missing(name)

    def _creatable(self, names: list[str]) -> frozenset[str]:
        if is_cluster_operation_allowed(self._view, self._context, AclOperation.CREATE):
            return frozenset(names)
        return allowed_topics(self._view, self._context, AclOperation.CREATE, names)

    def _add_found(self, topics: Iterable[Topic]) -> None:
        view, version = self._view, self._context.api_version
        describe = _Description(self._brokers, version, view.release.internal_topics).describe
        known = encoded_topics(self._brokers, view.release.name, version, describe)
        if not self._wants_operations:
            self._found += map(known.encode, topics)
            return
        for topic in topics:
            described = describe(topic)
            described.topic_authorized_operations = authorized_topic_operations(view, self._context, topic.name)
            self._found.append(encode_topic(described, version))

    def _add_missing(self, name: str) -> None:
        is_possible = why_invalid(name) is None
        topic = self._refuse(
            name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_possible else ErrorCode.INVALID_TOPIC_EXCEPTION
        )
        if self._wants_operations:
            topic.topic_authorized_operations = authorized_topic_operations(self._view, self._context, name)

    @property
    def _wants_operations(self) -> bool:
        is_known = self._context.api_version >= TELLS_OPERATIONS_SINCE
        return is_known and self._request.include_topic_authorized_operations

    def _refuse(self, name: str | None, error_code: ErrorCode, topic_id: bytes = ZERO_UUID) -> MetadataResponseTopic:
        is_internal = name in self._view.release.internal_topics
        topic = MetadataResponseTopic(error_code=error_code, name=name, topic_id=topic_id, is_internal=is_internal)
        self._refused.append(topic)
        return topic


class _Description:
    """Describes topics as a version has them."""

    def __init__(self, brokers: BrokerEndpoints, version: int, internal_topics: frozenset[str]) -> None:
        self._brokers = brokers
        self._internal_topics = internal_topics
        self._has_offline_replicas = version > 0
        self._unreachable = (
            ErrorCode.LISTENER_NOT_FOUND
            if version >= _TELLS_LISTENER_NOT_FOUND_SINCE
            else ErrorCode.LEADER_NOT_AVAILABLE
        )

    def describe(self, topic: Topic) -> MetadataResponseTopic:
        """Describe a topic, without the operations that anybody may do with it."""
        return MetadataResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.name in self._internal_topics,
            partitions=[self._partition(index, partition) for index, partition in topic.items()],
        )

    def _partition(self, index: int, partition: Partition) -> MetadataResponsePartition:
        brokers, leader = self._brokers, partition.leader
        replicas, isr = partition.replicas, partition.isr
        error = 0
        if not self._has_offline_replicas:
            replicas, isr = brokers.alive_replicas(replicas), brokers.alive_replicas(isr)
            if len(replicas) < len(partition.replicas) or len(isr) < len(partition.isr):
                error = ErrorCode.REPLICA_NOT_AVAILABLE
        if leader not in brokers.reachable:
            error = self._unreachable if brokers.is_registered(leader) else ErrorCode.LEADER_NOT_AVAILABLE
            leader = NO_NODE
        return MetadataResponsePartition(
            error, index, leader, partition.leader_epoch, replicas, isr, brokers.offline_replicas(partition)
        )


ROUTE: Final = Route(api_key=API_KEY, handler=handle, needs_controller=False)
