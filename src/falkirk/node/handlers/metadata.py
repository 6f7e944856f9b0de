"""Metadata (key 3), v0-13: brokers, topics, and leaders of partitions. KIP-4, KIP-430, KIP-516, KIP-590, KIP-1102.

Behaviour: brokers answer, from their image; endpoints are those of the listener of the request, fenced brokers are left
out. The controller is a random alive broker: every broker forwards requests for the controller. Needs DESCRIBE on a
topic, else TOPIC_AUTHORIZATION_FAILED for it, whether it exists or not; a request for all topics gets those that the
client may describe. A topic that does not exist is UNKNOWN_TOPIC_OR_PARTITION, or INVALID_TOPIC_EXCEPTION for an
invalid name; it is created meanwhile if the request and auto.create.topics.enable allow that (needs CREATE on CLUSTER
or on the topic). A partition whose leader is not registered has LEADER_NOT_AVAILABLE.
Differs from Kafka: topics and brokers are sorted; the random controller changes only when the response is made anew,
that is, when topics or brokers have changed; a topic with neither name nor id is INVALID_REQUEST.
Version notes: v0 has no null for all topics (an empty list is that), and leaves out offline replicas with
REPLICA_NOT_AVAILABLE; v1 adds controller, racks and internal topics; v2 the cluster id; v4 whether topics may be
created; v5 offline replicas; from v6 on a leader without this listener is LISTENER_NOT_FOUND, before it
LEADER_NOT_AVAILABLE; v7 adds leader epochs; v8 to v10 authorized operations on the cluster; v8 those on topics; v10
returns topic ids, v12 accepts them (UNKNOWN_TOPIC_ID), ignoring names; v13 adds a top-level error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.metadata.controller.state.topic_names import reason_invalid_name
from falkirk.node.handlers.parts.authorized_operations import authorized_cluster_operations, authorized_topic_operations
from falkirk.node.handlers.parts.broker_endpoints import NO_NODE, BrokerEndpoints, broker_endpoints
from falkirk.node.handlers.parts.cluster_authorization import is_cluster_operation_allowed
from falkirk.node.handlers.parts.encoded_topics import encode_response, encode_topic, encoded_topics
from falkirk.node.handlers.parts.handler_result import AnswerInSlices, EncodedPieces, EncodedResponse
from falkirk.node.handlers.parts.route import PARTITION_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.topic_authorization import allowed_topics_in_slices
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import MetadataRequest, MetadataResponse
from falkirk.protocol.messages.metadata_response import (
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from falkirk.protocol.schema import ZERO_UUID
from falkirk.slices import SliceBudget

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.image.topic import Topic
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices

API_KEY: Final = 3
_TOPIC_IDS_SINCE: Final = 12
_LISTENER_NOT_FOUND_SINCE: Final = 6
TOPIC_OPERATIONS_SINCE: Final = 8
JOINED_BYTES_MAX: Final = 16 * 1024 * 1024
"""Larger responses are sent in pieces, and not kept."""
# Beside its partitions, of which a slice has 2,000.
TOPIC_VISITS: Final = 1
KNOWN_TOPIC_VISITS: Final = 1
REFUSED_PER_SLICE: Final = 1_000
CLUSTER_OPERATIONS: Final = range(8, 11)


def handle(view: BrokerView, context: RequestContext, request: MetadataRequest) -> WireMessage | AnswerInSlices:
    """Describe the requested topics, and have missing ones created."""
    version = context.api_version
    reason = reason_invalid(request, version)
    if reason is not None:
        return error_response(request, version, ErrorCode.INVALID_REQUEST, reason)
    return AnswerInSlices(_described(view, context, request))


def _described(
    view: BrokerView, context: RequestContext, request: MetadataRequest
) -> Slices[EncodedResponse | EncodedPieces]:
    answer = _Answer(view, context, request)
    if request.topics is None or (context.api_version == 0 and not request.topics):
        yield from answer.add_all()
    else:
        yield from answer.add_requested([(topic.name, topic.topic_id) for topic in request.topics])
    # A client that is not yet authenticated must not get a kept response, nor a client what another may see.
    is_own = view.authorizer.is_configured or answer.creates_topics or context.security_protocol.startswith("SASL")
    pieces = yield from answer.pieces()
    if sum(map(len, pieces)) > JOINED_BYTES_MAX:
        return EncodedPieces(pieces)
    return EncodedResponse(b"".join(pieces), is_for_all=not is_own)


def reason_invalid(request: MetadataRequest, version: int) -> str | None:
    """Return why the whole request is INVALID_REQUEST; None if it is valid."""
    for topic in request.topics or ():
        if version < _TOPIC_IDS_SINCE and topic.topic_id != ZERO_UUID:
            return f"Topic IDs are not supported in requests for version {version}"
        if topic.name is None and topic.topic_id == ZERO_UUID:
            return f"Topic name can not be null for version {version}"
    return None


class _Answer:
    """A response being made: existing topics first, then the others, each in the order of the request."""

    def __init__(self, view: BrokerView, context: RequestContext, request: MetadataRequest) -> None:
        self.creates_topics = False
        self._view = view
        self._context = context
        self._request = request
        self._topics = view.image.topics
        self._brokers = broker_endpoints(view.image.cluster, context.listener)
        self._found: list[bytes] = []
        self._refused: list[MetadataResponseTopic] = []

    def add_all(self) -> Slices[None]:
        """Add all topics that the client may describe."""
        names = sorted(self._topics.by_name)
        if self._view.authorizer.is_configured:
            allowed = yield from self._allowed(AclOperation.DESCRIBE, names)
            names = [name for name in names if name in allowed]
        yield from self._add_found(self._topics.by_name[name] for name in names)

    def add_requested(self, requested: list[tuple[str | None, bytes]]) -> Slices[None]:
        """Add these topics, given by name or id; if there is an id, names are ignored."""
        ids = {topic_id: None for _, topic_id in requested if topic_id != ZERO_UUID}
        if not ids:
            yield from self._add_names({name: None for name, _ in requested if name is not None})
            return
        known = {topic_id: self._topics.names[topic_id] for topic_id in ids if topic_id in self._topics.names}
        allowed = yield from self._allowed(AclOperation.DESCRIBE, known.values())
        yield from self._add_found(self._topics.by_name[name] for name in known.values() if name in allowed)
        for count, topic_id in enumerate(ids, 1):
            if count % REFUSED_PER_SLICE == 0:
                yield
            if topic_id not in known:
                self._refuse(None, ErrorCode.UNKNOWN_TOPIC_ID, topic_id)
            elif known[topic_id] not in allowed:
                self._refuse(None, ErrorCode.TOPIC_AUTHORIZATION_FAILED, topic_id)

    def pieces(self) -> Slices[list[bytes]]:
        """Return the encoded response in pieces."""
        view, version = self._view, self._context.api_version
        response = MetadataResponse(
            brokers=[
                MetadataResponseBroker(broker.broker_id, broker.host, broker.port, broker.rack)
                for broker in self._brokers.alive
            ],
            cluster_id=view.cluster_id,
            controller_id=self._brokers.random_alive(view.random),
        )
        if version in CLUSTER_OPERATIONS and self._request.include_cluster_authorized_operations:
            response.cluster_authorized_operations = authorized_cluster_operations(view, self._context)
        refused = []
        for count, topic in enumerate(self._refused, 1):
            refused.append(encode_topic(topic, version))
            if count % REFUSED_PER_SLICE == 0:
                yield
        return (yield from encode_response(response, self._found + refused, version))

    def _add_names(self, names: Iterable[str]) -> Slices[None]:
        view, context = self._view, self._context
        allowed = yield from self._allowed(AclOperation.DESCRIBE, names)
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
        yield from self._add_found(found)
        creation = view.broker.topic_creation if self._request.allow_auto_topic_creation else None
        if missing and creation is not None and creation.is_enabled:
            self.creates_topics = True
            may_create = yield from self._creatable(missing)
            creation.create(
                [name for name in missing if name in may_create and reason_invalid_name(name) is None], context
            )
            for name in missing:
                if name not in may_create:
                    self._refuse(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            missing = [name for name in missing if name in may_create]
        for count, name in enumerate(missing, 1):
            self._add_missing(name)
            if count % REFUSED_PER_SLICE == 0:
                yield

    def _creatable(self, names: list[str]) -> Slices[frozenset[str]]:
        if is_cluster_operation_allowed(self._view, self._context, AclOperation.CREATE):
            return frozenset(names)
        return (yield from self._allowed(AclOperation.CREATE, names))

    def _allowed(self, operation: AclOperation, names: Iterable[str]) -> Slices[frozenset[str]]:
        return allowed_topics_in_slices(self._view, self._context, operation, names)

    def _add_found(self, topics: Iterable[Topic]) -> Slices[None]:
        view, version = self._view, self._context.api_version
        describe = _Description(self._brokers, version, view.release.internal_topics).describe
        known = encoded_topics(self._brokers, view.release.name, version, describe)
        budget, wants_operations = SliceBudget(), self._wants_operations
        for topic in topics:
            visits = topic.partition_count
            if not wants_operations:
                visits = KNOWN_TOPIC_VISITS if known.has(topic) else visits
                self._found.append(known.encode(topic))
            else:
                described = describe(topic)
                described.topic_authorized_operations = authorized_topic_operations(view, self._context, topic.name)
                self._found.append(encode_topic(described, version))
            if budget.spend(visits + TOPIC_VISITS):
                yield

    def _add_missing(self, name: str) -> None:
        is_possible = reason_invalid_name(name) is None
        topic = self._refuse(
            name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_possible else ErrorCode.INVALID_TOPIC_EXCEPTION
        )
        if self._wants_operations:
            topic.topic_authorized_operations = authorized_topic_operations(self._view, self._context, name)

    @property
    def _wants_operations(self) -> bool:
        is_known = self._context.api_version >= TOPIC_OPERATIONS_SINCE
        return is_known and self._request.include_topic_authorized_operations

    def _refuse(self, name: str | None, error_code: ErrorCode, topic_id: bytes = ZERO_UUID) -> MetadataResponseTopic:
        is_internal = name in self._view.release.internal_topics
        topic = MetadataResponseTopic(error_code=error_code, name=name, topic_id=topic_id, is_internal=is_internal)
        self._refused.append(topic)
        return topic


class _Description:
    """Describes topics in the form of a version."""

    def __init__(self, brokers: BrokerEndpoints, version: int, internal_topics: frozenset[str]) -> None:
        self._brokers = brokers
        self._internal_topics = internal_topics
        self._has_offline_replicas = version > 0
        self._unreachable = (
            ErrorCode.LISTENER_NOT_FOUND if version >= _LISTENER_NOT_FOUND_SINCE else ErrorCode.LEADER_NOT_AVAILABLE
        )

    def describe(self, topic: Topic) -> MetadataResponseTopic:
        """Describe a topic, without authorized operations."""
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


ROUTE: Final[Route[BrokerView, MetadataRequest]] = Route(
    BrokerView, MetadataRequest, handle, elements_max=PARTITION_ELEMENTS_MAX
)
