"""CreateDelegationToken (key 38), v0-3: create a token that stands in for a principal. KIP-48, KIP-373, KIP-900.

Behaviour: every principal may create its own tokens; those of others need CREATE_TOKENS on that USER. Not over
PLAINTEXT, nor for a client that authenticated with a token. Served by the active controller, from metadata.version
3.6-IV2 on, where a secret key is configured.
Version notes: v2 is the first flexible version; v3 adds the owner, and the requester in the response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.requests.request_context import Principal
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.token_authorization import may_use_tokens
from falkirk.node.handlers.parts.view import ControllerView, NodeView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import CreateDelegationTokenRequest, CreateDelegationTokenResponse

if TYPE_CHECKING:
    from falkirk.metadata.controller.security.delegation_token_control import CreatedToken
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

_REQUESTER_SINCE: Final = 3
_NO_TIMESTAMP: Final = -1


def handle(
    view: ControllerView, context: RequestContext, request: CreateDelegationTokenRequest
) -> WireMessage | ControllerResult[WireMessage]:
    """Create the token."""
    requester = context.principal
    owner = requester
    if request.owner_principal_name:
        owner = Principal(request.owner_principal_type or "", request.owner_principal_name)
    error = _request_error(view, context, owner)
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


def _request_error(view: NodeView, context: RequestContext, owner: Principal) -> ErrorCode:
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
    if context.api_version >= _REQUESTER_SINCE:
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


ROUTE: Final[Route[ControllerView, CreateDelegationTokenRequest]] = Route(
    ControllerView, CreateDelegationTokenRequest, handle
)
