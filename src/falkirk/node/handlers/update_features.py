"""UpdateFeatures (key 57), v0-2: change finalized feature levels. KIP-584, KIP-778, KIP-1155.

Behaviour: needs ALTER on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; served by the active controller, else
NOT_CONTROLLER. INVALID_UPDATE_VERSION for what cannot be, INVALID_REQUEST for a feature without a name or named twice,
REQUEST_TIMED_OUT if it takes longer than the request allows to find out what would be lost, or until the change is
committed (it may still be then; Kafka waits for the commit as long as it takes). What is lost and what is in the way
is itemised in a tagged field of ours.
Version notes: v0 has AllowDowngrade, from v1 on there are UpgradeType and ValidateOnly; v2 drops the results of each
feature.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.cluster_authorization import refusal
from falkirk.node.handlers.handler import AnswerLater, NodeView, Route
from falkirk.protocol.messages import UpdateFeaturesRequest

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> WireMessage | AnswerLater:
    """Change levels of features."""
    assert isinstance(request, UpdateFeaturesRequest)
    assert view.feature_updates is not None, "the active controller is a controller"
    refused = refusal(view, context, request, AclOperation.ALTER)
    return refused or AnswerLater(partial(view.feature_updates.start, request, context.api_version))


ROUTE: Final = Route(api_key=57, handler=handle, needs_controller=True)
