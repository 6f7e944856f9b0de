"""CreatePartitions (key 37), v0-3: add partitions to topics, assigned by the client or placed. KIP-195, KIP-599.

Behaviour: needs ALTER on the topic, else TOPIC_AUTHORIZATION_FAILED for it; served by the active controller. A name
that appears twice is refused.
Version notes: all alike; v2 is flexible. v3 allows THROTTLING_QUOTA_EXCEEDED (`controller_mutation_rate`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.handler_result import InSlices
from falkirk.node.handlers.parts.route import PARTITION_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.topic_authorization import allowed_topics, split_repeated
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import CreatePartitionsRequest
from falkirk.protocol.messages.create_partitions_response import CreatePartitionsTopicResult
from falkirk.slices import pause_after

if TYPE_CHECKING:
    from falkirk.metadata.controller.state.mutation_quota import MutationQuota
    from falkirk.metadata.controller.state.result import ControllerResult
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices


# From this version on a quota refuses topics; before, the client is throttled afterwards.
_REFUSED_SINCE: Final = 3


def handle(view: ControllerView, context: RequestContext, request: CreatePartitionsRequest) -> InSlices:
    """Add partitions to the topics that the client may alter."""
    quota = view.quotas.mutations(context, strict_since=_REFUSED_SINCE)
    return InSlices(partial(_add, view, context, request, quota))


def _add(
    view: ControllerView, context: RequestContext, request: CreatePartitionsRequest, quota: MutationQuota
) -> Slices[ControllerResult[WireMessage]]:
    names, repeated = split_repeated(topic.name for topic in request.topics)
    yield from pause_after(len(request.topics))
    allowed = allowed_topics(view, context, AclOperation.ALTER, names)
    quota.restart()
    result = yield from view.controller.replication.create_partitions(
        [topic for topic in request.topics if topic.name in allowed], validate_only=request.validate_only, quota=quota
    )
    yield from pause_after(len(request.topics))
    result.response.throttle_time_ms = quota.throttle_ms
    answers = result.response.results
    answers += [
        CreatePartitionsTopicResult(name, ErrorCode.INVALID_REQUEST, "Duplicate topic name.") for name in repeated
    ]
    answers += [
        CreatePartitionsTopicResult(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED) for name in names if name not in allowed
    ]
    return result


ROUTE: Final[Route[ControllerView, CreatePartitionsRequest]] = Route(
    ControllerView, CreatePartitionsRequest, handle, elements_max=PARTITION_ELEMENTS_MAX
)
