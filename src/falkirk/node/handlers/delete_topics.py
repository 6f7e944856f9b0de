"""DeleteTopics (key 20), v0-6: delete topics, by name or id. KIP-4, KIP-516, KIP-599.

Behaviour: needs DELETE on CLUSTER or on the topic. Without DESCRIBE on a topic the client learns neither whether it
exists (TOPIC_AUTHORIZATION_FAILED) nor the name of an id. TOPIC_DELETION_DISABLED where delete.topic.enable is false.
Served by the active controller. A topic that appears twice, by name or id, is refused.
Version notes: before v3 INVALID_REQUEST stands for TOPIC_DELETION_DISABLED; v5 adds error messages and
THROTTLING_QUOTA_EXCEEDED; v6 ids.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.requests.api_error import ApiError
from falkirk.node.handlers.parts.cluster_authorization import is_cluster_operation_allowed
from falkirk.node.handlers.parts.handler_result import InSlices
from falkirk.node.handlers.parts.route import PARTITION_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.topic_authorization import (
    TOPIC_AUTHORIZATION_FAILED,
    allowed_topics,
    split_repeated,
)
from falkirk.node.handlers.parts.view import ControllerView, NodeView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import DeleteTopicsRequest, DeleteTopicsResponse
from falkirk.protocol.messages.delete_topics_response import DeletableTopicResult
from falkirk.protocol.schema import ZERO_UUID
from falkirk.slices import DECISION_VISITS, SliceBudget, pause_after

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.metadata.controller.controller import Controller
    from falkirk.metadata.controller.state.mutation_quota import MutationQuota
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices

# From this version on a quota refuses topics; before, the client is throttled afterwards.
_REFUSED_SINCE: Final = 5
_NOT_AUTHORIZED: Final = ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED)


def handle(view: ControllerView, context: RequestContext, request: DeleteTopicsRequest) -> WireMessage | InSlices:
    """Delete the topics that the client may delete."""
    controller = view.controller
    if controller.settings.static_configs.get("delete.topic.enable", "true").strip().lower() == "false":
        code = ErrorCode.INVALID_REQUEST if context.api_version < 3 else ErrorCode.TOPIC_DELETION_DISABLED
        return error_response(request, context.api_version, code, "Topic deletion is disabled.")
    quota = view.quotas.mutations(context, strict_since=_REFUSED_SINCE)
    return InSlices(partial(_delete, view, context, request, quota))


def _delete(
    view: ControllerView, context: RequestContext, request: DeleteTopicsRequest, quota: MutationQuota
) -> Slices[ControllerResult[WireMessage]]:
    deletion = _Deletion(view, context, view.controller)
    yield from deletion.name_topics(request)
    yield from pause_after(len(request.topics))
    quota.restart()
    return deletion.result(quota)


class _Deletion:
    """Collects the topics to delete, and the results of those that are refused."""

    def __init__(self, view: NodeView, context: RequestContext, controller: Controller) -> None:
        self._view = view
        self._context = context
        self._controller = controller
        self._topics = controller.state.image.topics
        self._is_allowed_all = is_cluster_operation_allowed(view, context, AclOperation.DELETE)
        # Names of the topics to be deleted, by id.
        self._names: dict[bytes, str] = {}
        self._answers: list[DeletableTopicResult] = []

    def name_topics(self, request: DeleteTopicsRequest) -> Slices[None]:
        """Add the topics of the request, given by name or id."""
        names: list[str] = list(request.topic_names)
        ids: list[bytes] = []
        for topic in request.topics:
            if topic.name is None and topic.topic_id == ZERO_UUID:
                self._answer(None, ZERO_UUID, ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
            elif topic.name is None:
                ids.append(topic.topic_id)
            elif topic.topic_id == ZERO_UUID:
                names.append(topic.name)
            else:
                message = "You may not specify both topic name and topic id."
                self._answer(topic.name, topic.topic_id, ErrorCode.INVALID_REQUEST, message)
        once, repeated = split_repeated(names)
        ids_once, ids_repeated = split_repeated(ids)
        yield from pause_after(len(request.topics))
        for name in repeated:
            self._answer(name, ZERO_UUID, ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        for topic_id in ids_repeated:
            self._answer(None, topic_id, ErrorCode.INVALID_REQUEST, "Duplicate topic id.")
        yield from pause_after(len(request.topics))
        yield from self._add_all(ids_once, once, frozenset(ids_repeated))

    def _add_all(self, ids: Iterable[bytes], names: Iterable[str], repeated_ids: frozenset[bytes]) -> Slices[None]:
        budget = SliceBudget()
        for topic_id in ids:
            self._add_id(topic_id)
            if budget.spend(DECISION_VISITS):
                yield
        for name in names:
            self._add_name(name, repeated_ids)
            if budget.spend(DECISION_VISITS):
                yield

    def result(self, quota: MutationQuota) -> ControllerResult[WireMessage]:
        """Delete the remaining topics and return all results."""
        result = self._controller.replication.delete_topics(self._names, quota)
        for topic_id, error in result.response.items():
            self._answer(self._names[topic_id], topic_id, *error)
        # Sorted, so that the order does not reveal whether a topic is missing or hidden from the client.
        self._answers.sort(key=lambda answer: (answer.name or "", answer.topic_id))
        return ControllerResult(result.records, DeleteTopicsResponse(quota.throttle_ms, self._answers))

    def _add_id(self, topic_id: bytes) -> None:
        name = self._topics.names.get(topic_id)
        if name is None:
            message = "This server does not host this topic ID."
            self._answer(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID, message)
        elif self._may(AclOperation.DELETE, name):
            self._names[topic_id] = name
        else:
            shown = name if self._may(AclOperation.DESCRIBE, name) else None
            self._answer(shown, topic_id, *_NOT_AUTHORIZED)

    def _add_name(self, name: str, repeated_ids: frozenset[bytes]) -> None:
        topic = self._topics.topic(name)
        if not self._may(AclOperation.DESCRIBE, name):
            self._answer(name, ZERO_UUID, *_NOT_AUTHORIZED)
        elif topic is None:
            message = "This server does not host this topic-partition."
            self._answer(name, ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
        elif not self._may(AclOperation.DELETE, name):
            self._answer(name, ZERO_UUID, *_NOT_AUTHORIZED)
        elif topic.topic_id in self._names or topic.topic_id in repeated_ids:
            self._names.pop(topic.topic_id, None)
            message = "The provided topic name maps to an ID that was already supplied."
            self._answer(name, topic.topic_id, ErrorCode.INVALID_REQUEST, message)
        else:
            self._names[topic.topic_id] = name

    def _may(self, operation: AclOperation, name: str) -> bool:
        return self._is_allowed_all or name in allowed_topics(self._view, self._context, operation, (name,))

    def _answer(self, name: str | None, topic_id: bytes, error_code: ErrorCode, message: str | None) -> None:
        self._answers.append(DeletableTopicResult(name, topic_id, error_code, message))


ROUTE: Final[Route[ControllerView, DeleteTopicsRequest]] = Route(
    ControllerView, DeleteTopicsRequest, handle, elements_max=PARTITION_ELEMENTS_MAX
)
