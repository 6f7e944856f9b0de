"""DescribeAcls (key 29), v0-3: the access control entries that a filter matches. KIP-140, KIP-290.

Behaviour: needs DESCRIBE on CLUSTER; every node answers, from its image. Entries are grouped by resource.
Version notes: v1 adds the pattern type, v0 has literal names only; v2 is the first flexible version; v3 adds the
resource type USER.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_filter import AclFilter
from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.acl_authorization import refusal
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import NodeView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import DescribeAclsRequest, DescribeAclsResponse
from falkirk.protocol.messages.describe_acls_response import AclDescription, DescribeAclsResource

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: NodeView, context: RequestContext, request: DescribeAclsRequest) -> WireMessage:
    """Return the matching entries."""
    refused = refusal(view, context, request, AclOperation.DESCRIBE)
    if refused is not None:
        return refused
    acl_filter = AclFilter(
        resource_type=request.resource_type_filter,
        resource_name=request.resource_name_filter,
        pattern_type=request.pattern_type_filter,
        principal=request.principal_filter,
        host=request.host_filter,
        operation=request.operation,
        permission_type=request.permission_type,
    )
    if acl_filter.is_unknown:
        message = "The filter asks for something that this release does not know."
        return DescribeAclsResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=message)
    resources: dict[tuple[int, str, int], DescribeAclsResource] = {}
    matching = (acl for acl in view.image.acls.acls.values() if acl_filter.matches(acl))
    for acl in sorted(
        matching, key=lambda acl: (acl.resource_type, acl.resource_name, acl.pattern_type, acl.principal)
    ):
        key = acl.resource_type, acl.resource_name, acl.pattern_type
        resource = resources.get(key)
        if resource is None:
            resource = resources[key] = DescribeAclsResource(*key, acls=[])
        resource.acls.append(AclDescription(acl.principal, acl.host, acl.operation, acl.permission_type))
    return DescribeAclsResponse(resources=list(resources.values()))


ROUTE: Final[Route[NodeView, DescribeAclsRequest]] = Route(NodeView, DescribeAclsRequest, handle)
