"""CreateDelegationToken (key 38), v0-3: a token that stands in for a principal. KIP-48, KIP-373, KIP-900.

Behaviour: for itself every principal may, for others who has CREATE_TOKENS on that USER; not over PLAINTEXT, nor by a
token. Served by the active controller, from metadata.version 3.6-IV2 on, where a secret key is configured.
Version notes: v2 is the first flexible version; v3 adds the owner and tells the requester.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation, ResourceType
from falkirk.metadata.controller.request_context import Principal
from falkirk.metadata.controller.result import ControllerResult
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.node.handlers.token_authorization import may_use_tokens
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import CreateDelegationTokenRequest, CreateDelegationTokenResponse

if TYPE_CHECKING:
    from falkirk.metadata.controller.delegation_token_control import CreatedToken
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(
    view: NodeView, context: RequestContext, request: WireMessage
) -> WireMessage | ControllerResult[WireMessage]:
    """Make the token."""
    assert isinstance(request, CreateDelegationTokenRequest)
    assert view.controller is not None
    requester = context.principal
    owner = requester
    if request.owner_principal_name:
        owner = Principal(request.owner_principal_type or "", request.owner_principal_name)
    error = _why_refused(view, context, owner)
    if error is not ErrorCode.NONE:
        refused = _response(context, owner, error)
        refused.issue_timestamp_ms = refused.expiry_timestamp_ms = refused.max_timestamp_ms = _NO_TIMESTAMP
        return refused
    result = view.controller.delegation_tokens.create_token(
        requester,
        owner,
        [Principal(renewer.principal_type, renewer.principal_name) for renewer in request.renewers],
        max_lifetime_ms=request.max_lifetime_ms,
        now_ms=view.now_ms,
    )
    return ControllerResult(result.records, _with_token(_response(context, owner, ErrorCode.NONE), result.response))


def _why_refused(view: NodeView, context: RequestContext, owner: Principal) -> ErrorCode:
    if not may_use_tokens(context):
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    may_act_for = view.authorizer.is_allowed
    if str(owner) != str(context.principal) and not may_act_for(
        context, AclOperation.CREATE_TOKENS, ResourceType.USER, str(owner)
    ):
        return ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    return ErrorCode.NONE


def _response(context: RequestContext, owner: Principal, error: ErrorCode) -> CreateDelegationTokenResponse:
    response = CreateDelegationTokenResponse(error_code=error, principal_type=owner.type, principal_name=owner.name)
    if context.api_version >= _TELLS_REQUESTER_SINCE:
        response.token_requester_principal_type = context.principal.type
        response.token_requester_principal_name = context.principal.name
    return response


def _with_token(response: CreateDelegationTokenResponse, created: CreatedToken) -> CreateDelegationTokenResponse:
    response.error_code = created.error_code
    if created.token is not None:
        response.issue_timestamp_ms = created.token.issue_timestamp
        response.expiry_timestamp_ms = created.token.expiration_timestamp
        response.max_timestamp_ms = created.token.max_timestamp
        response.token_id = created.token_id
        response.hmac = created.hmac
    return response


_TELLS_REQUESTER_SINCE: Final = 3
_NO_TIMESTAMP: Final = -1

ROUTE: Final = Route(api_key=38, handler=handle, needs_controller=True)
