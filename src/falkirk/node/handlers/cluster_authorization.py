"""Requests that are allowed or refused as a whole, by an operation on the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from falkirk.metadata.acl_types import CLUSTER_NAME, ResourceType
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response

if TYPE_CHECKING:
    from falkirk.metadata.acl_types import AclOperation
    from falkirk.metadata.authorizer import Authorizer
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


class AuthorizingView(Protocol):
    """What a handler looks at knows who may do what, whatever else it knows."""

    @property
    def authorizer(self) -> Authorizer:
        """Who decides; it allows everything where none is configured."""
        ...


def is_cluster_operation_allowed(view: AuthorizingView, context: RequestContext, operation: AclOperation) -> bool:
    """Say whether whoever asks may do this with the cluster."""
    return view.authorizer.is_allowed(context, operation, ResourceType.CLUSTER, CLUSTER_NAME)


def refusal(
    view: AuthorizingView, context: RequestContext, request: WireMessage, operation: AclOperation
) -> WireMessage | None:
    """Give the answer CLUSTER_AUTHORIZATION_FAILED; None if the operation is allowed."""
    if is_cluster_operation_allowed(view, context, operation):
        return None
    return error_response(request, context.api_version, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
