"""UpdateFeatures (key 57), v0-1: change finalized feature levels in ZooKeeper. KIP-584, KIP-778.

Behaviour: needs ALTER on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; served by the controller, else NOT_CONTROLLER.
INVALID_REQUEST below the inter.broker.protocol.version that has finalized features. All else is decided by
`metadata.zookeeper.feature_update`, feature by feature; REQUEST_TIMED_OUT if that takes longer than the request allows.
Version notes: v0 has AllowDowngrade, from v1 on there are UpgradeType and ValidateOnly.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.handler_result import AnswerLater
from falkirk.node.handlers.parts.route import Route
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import UpdateFeaturesRequest
from falkirk.zookeeper_node.handlers.zookeeper_view import ZooKeeperView

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: ZooKeeperView, context: RequestContext, request: UpdateFeaturesRequest) -> WireMessage | AnswerLater:
    """Change feature levels."""
    refused = refusal(view, context, request, AclOperation.ALTER)
    if refused is not None:
        return refused
    version = context.api_version
    if view.update_features is None:
        return error_response(request, version, ErrorCode.NOT_CONTROLLER)
    if not view.supports_features:
        reason = "Feature versioning system is disabled."
        return error_response(request, version, ErrorCode.INVALID_REQUEST, reason)
    return AnswerLater(partial(view.update_features, request, version))


ROUTE: Final[Route[ZooKeeperView, UpdateFeaturesRequest]] = Route(ZooKeeperView, UpdateFeaturesRequest, handle)
