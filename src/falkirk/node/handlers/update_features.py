"""UpdateFeatures (key 57), v0-2: change finalized feature levels. KIP-584, KIP-778, KIP-1155.

Behaviour: needs ALTER on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; served by the active controller, else
NOT_CONTROLLER. INVALID_UPDATE_VERSION for an impossible update, INVALID_REQUEST for a feature without a name or named
twice, REQUEST_TIMED_OUT if the request's timeout ends before the losses are known or the change is committed (it may
still be; Kafka waits for the commit without limit). Losses and blockers are itemised in a tagged field of ours.
Version notes: v0 has AllowDowngrade, v1 replaces it by UpgradeType and adds ValidateOnly; v2 drops the results of each
feature.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.handler_result import AnswerLater, NotController
from falkirk.node.handlers.parts.route import FEW_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.messages import UpdateFeaturesRequest

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: ControllerView, context: RequestContext, request: UpdateFeaturesRequest) -> WireMessage | AnswerLater:
    """Change feature levels."""
    refused = refusal(view, context, request, AclOperation.ALTER)
    if refused is not None:
        return refused
    start = partial(view.feature_updates.start, request, context.api_version)
    return AnswerLater(lambda answer: start(lambda result: answer(result or NotController())))


ROUTE: Final[Route[ControllerView, UpdateFeaturesRequest]] = Route(
    ControllerView, UpdateFeaturesRequest, handle, elements_max=FEW_ELEMENTS_MAX
)
