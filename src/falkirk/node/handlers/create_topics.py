"""CreateTopics (key 19), v0-7: create topics, assigned by the client or placed. KIP-4, KIP-464, KIP-525, KIP-599.

Behaviour: needs CREATE on CLUSTER, or on the topic, else TOPIC_AUTHORIZATION_FAILED for it; served by the active
controller. A name that appears twice is refused, and so is that of the metadata topic. Configs in the response need
DESCRIBE_CONFIGS on the topic.
Version notes: v1 adds ValidateOnly and error messages; v4 allows -1 for the default number of partitions and replicas;
v5 returns partitions, replicas and configs; v6 allows
THROTTLING_QUOTA_EXCEEDED (`controller_mutation_rate`); v7 returns the topic's id.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.metadata.controller.state.topic_names import CLUSTER_METADATA
from falkirk.node.handlers.parts.cluster_authorization import is_cluster_operation_allowed
from falkirk.node.handlers.parts.handler_result import InSlices
from falkirk.node.handlers.parts.route import PARTITION_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.topic_authorization import allowed_topics, split_repeated
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import CreateTopicsRequest
from falkirk.protocol.messages.create_topics_response import CreatableTopicResult
from falkirk.slices import pause_after

if TYPE_CHECKING:
    from falkirk.metadata.controller.state.mutation_quota import MutationQuota
    from falkirk.metadata.controller.state.result import ControllerResult
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices


# From this version on a quota refuses topics; before, the client is throttled afterwards.
_REFUSED_SINCE: Final = 6


def handle(view: ControllerView, context: RequestContext, request: CreateTopicsRequest) -> InSlices:
    """Create the topics that the client may create."""
    quota = view.quotas.mutations(context, strict_since=_REFUSED_SINCE)
    return InSlices(partial(_create, view, context, request, quota))


def _create(
    view: ControllerView, context: RequestContext, request: CreateTopicsRequest, quota: MutationQuota
) -> Slices[ControllerResult[WireMessage]]:
    names, repeated = split_repeated(topic.name for topic in request.topics)
    yield from pause_after(len(request.topics))
    possible = [name for name in names if name != CLUSTER_METADATA]
    if is_cluster_operation_allowed(view, context, AclOperation.CREATE):
        creatable = frozenset(possible)
    else:
        creatable = allowed_topics(view, context, AclOperation.CREATE, possible)
    yield from pause_after(len(request.topics))
    quota.restart()
    result = yield from view.controller.replication.create_topics(
        [topic for topic in request.topics if topic.name in creatable],
        describable=allowed_topics(view, context, AclOperation.DESCRIBE_CONFIGS, possible),
        validate_only=request.validate_only,
        quota=quota,
    )
    yield from pause_after(len(request.topics))
    result.response.throttle_time_ms = quota.throttle_ms
    answers = result.response.topics
    answers += [_refused(name, ErrorCode.INVALID_REQUEST, "Duplicate topic name.") for name in repeated]
    for name in names:
        if name == CLUSTER_METADATA:
            message = f"Creation of internal topic {CLUSTER_METADATA} is prohibited."
            answers.append(_refused(name, ErrorCode.INVALID_REQUEST, message))
        elif name not in creatable:
            answers.append(_refused(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed."))
    return result


def _refused(name: str, error_code: ErrorCode, message: str) -> CreatableTopicResult:
    return CreatableTopicResult(name, error_code=error_code, error_message=message)


ROUTE: Final[Route[ControllerView, CreateTopicsRequest]] = Route(
    ControllerView, CreateTopicsRequest, handle, elements_max=PARTITION_ELEMENTS_MAX
)
