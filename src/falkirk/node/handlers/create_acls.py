"""CreateAcls (key 30), v0-3: create access control entries. KIP-140, KIP-290.

Behaviour: needs ALTER on CLUSTER; served by the active controller. Each entry has its own result; one that exists
already is no error and is not written again. Ranges of hosts need metadata.version 4.4-IV1.
Version notes: v1 adds the pattern type, v0 has literal names only; v2 is the first flexible version; v3 adds the
resource type USER.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.image.acls import Acl
from falkirk.node.handlers.parts.acl_authorization import refusal
from falkirk.node.handlers.parts.handler_result import InSlices
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.messages import CreateAclsRequest, CreateAclsResponse
from falkirk.protocol.messages.create_acls_response import AclCreationResult

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices


def handle(view: ControllerView, context: RequestContext, request: CreateAclsRequest) -> WireMessage | InSlices:
    """Create the valid entries."""
    refused = refusal(view, context, request, AclOperation.ALTER)
    if refused is not None:
        return refused
    return InSlices(partial(_create, view, request))


def _create(view: ControllerView, request: CreateAclsRequest) -> Slices[ControllerResult[WireMessage]]:
    result = yield from view.controller.acls.create_acls(
        [
            Acl(
                creation.resource_type,
                creation.resource_name,
                creation.resource_pattern_type,
                creation.principal,
                creation.host,
                creation.operation,
                creation.permission_type,
            )
            for creation in request.creations
        ]
    )
    answers = [AclCreationResult(error.error_code, error.message or "") for error in result.response]
    return ControllerResult(result.records, CreateAclsResponse(results=answers))


ROUTE: Final[Route[ControllerView, CreateAclsRequest]] = Route(ControllerView, CreateAclsRequest, handle)
