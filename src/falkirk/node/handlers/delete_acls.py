"""DeleteAcls (key 31), v0-3: delete the access control entries that filters match. KIP-140, KIP-290.

Behaviour: needs ALTER on CLUSTER; served by the active controller. Each filter has its own result, with the entries
that it matched.
Version notes: v1 adds the pattern type, v0 has literal names only; v2 is the first flexible version; v3 adds the
resource type USER.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_filter import AclFilter
from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.node.handlers.parts.acl_authorization import refusal
from falkirk.node.handlers.parts.handler_result import InSlices
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.messages import DeleteAclsRequest, DeleteAclsResponse
from falkirk.protocol.messages.delete_acls_response import DeleteAclsFilterResult, DeleteAclsMatchingAcl
from falkirk.slices import SliceBudget

if TYPE_CHECKING:
    from falkirk.metadata.controller.security.acl_control import DeletedAcls
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.messages.delete_acls_request import DeleteAclsFilter
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices


def handle(view: ControllerView, context: RequestContext, request: DeleteAclsRequest) -> WireMessage | InSlices:
    """Delete the entries that the filters match."""
    refused = refusal(view, context, request, AclOperation.ALTER)
    if refused is not None:
        return refused
    return InSlices(partial(_delete, view, request))


def _delete(view: ControllerView, request: DeleteAclsRequest) -> Slices[ControllerResult[WireMessage]]:
    result = yield from view.controller.acls.delete_acls(map(_filter, request.filters))
    response, budget = DeleteAclsResponse(), SliceBudget()
    for deleted in result.response:
        response.filter_results.append((yield from _answer(deleted, budget)))
        if budget.spend(1):
            yield
    return ControllerResult(result.records, response)


def _filter(given: DeleteAclsFilter) -> AclFilter:
    return AclFilter(
        resource_type=given.resource_type_filter,
        resource_name=given.resource_name_filter,
        pattern_type=given.pattern_type_filter,
        principal=given.principal_filter,
        host=given.host_filter,
        operation=given.operation,
        permission_type=given.permission_type,
    )


def _answer(deleted: DeletedAcls, budget: SliceBudget) -> Slices[DeleteAclsFilterResult]:
    matching = []
    for acl in deleted.acls:
        matching.append(
            DeleteAclsMatchingAcl(
                error_message=None,
                resource_type=acl.resource_type,
                resource_name=acl.resource_name,
                pattern_type=acl.pattern_type,
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission_type,
            )
        )
        if budget.spend(1):
            yield
    return DeleteAclsFilterResult(deleted.error.error_code, deleted.error.message, matching)


ROUTE: Final[Route[ControllerView, DeleteAclsRequest]] = Route(ControllerView, DeleteAclsRequest, handle)
