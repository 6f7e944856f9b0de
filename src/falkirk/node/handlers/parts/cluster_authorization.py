"""Authorization of requests as a whole, by an operation on the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from falkirk.metadata.acls.acl_types import CLUSTER_NAME, ResourceType
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response

if TYPE_CHECKING:
    from falkirk.metadata.acls.acl_types import AclOperation
    from falkirk.metadata.acls.authorizer import Authorizer
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

CLUSTER_AUTHORIZATION_FAILED: Final = "Cluster authorization failed."


class AuthorizingView(Protocol):
    """A view with an authorizer, whatever else it has."""

    @property
    def authorizer(self) -> Authorizer:
        """Allows everything if none is configured."""
        ...


def is_cluster_operation_allowed(view: AuthorizingView, context: RequestContext, operation: AclOperation) -> bool:
    """Return whether the client is authorized for an operation on the cluster."""
    return view.authorizer.is_allowed(context, operation, ResourceType.CLUSTER, CLUSTER_NAME)


def refusal(
    view: AuthorizingView,
    context: RequestContext,
    request: WireMessage,
    operation: AclOperation,
    *,
    message: str | None = CLUSTER_AUTHORIZATION_FAILED,
) -> WireMessage | None:
    """Return the CLUSTER_AUTHORIZATION_FAILED response; None if the operation is allowed.

    `message` is set wherever the version has a field for it; Kafka leaves it out in a few APIs.
    """
    if is_cluster_operation_allowed(view, context, operation):
        return None
    error_code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return error_response(request, context.api_version, error_code, message)
