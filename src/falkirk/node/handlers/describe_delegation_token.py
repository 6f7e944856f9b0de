"""DescribeDelegationToken (key 41), v0-3: the tokens that the client may see, with their secrets. KIP-48, KIP-373.

Behaviour: a principal sees tokens that it owns, requested or may renew, those that it has DESCRIBE on, and those of
users that it has DESCRIBE_TOKENS on; not over PLAINTEXT, nor for a client that authenticated with a token. Every node
answers, from its image. `owners` match a token's owner, requester and renewers; null matches all tokens, an empty list
none.
Differs from Kafka: its controllers offer this API and fail at it.
Version notes: v2 is the first flexible version; v3 adds the requester.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.metadata.controller.security.delegation_token_control import token_hmac
from falkirk.metadata.requests.request_context import Principal
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.token_authorization import may_use_tokens
from falkirk.node.handlers.parts.view import NodeView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import DescribeDelegationTokenRequest, DescribeDelegationTokenResponse
from falkirk.protocol.messages.describe_delegation_token_response import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
)

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from falkirk.metadata.image.delegation_tokens import DelegationToken
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

_REQUESTER_SINCE: Final = 3
# The old name still counts in 3.x.
_SECRET_KEYS: Final = ("delegation.token.secret.key", "delegation.token.master.key")


def handle(view: NodeView, context: RequestContext, request: DescribeDelegationTokenRequest) -> WireMessage:
    """Return the visible tokens."""
    if not may_use_tokens(context):
        return DescribeDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    secret_key = next((view.static_configs[name] for name in _SECRET_KEYS if name in view.static_configs), None)
    if secret_key is None:
        return DescribeDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    owners = None
    if request.owners is not None:
        owners = {f"{owner.principal_type}:{owner.principal_name}" for owner in request.owners}
    tokens = [
        _described(token_id, token, token_hmac(secret_key, token_id), context.api_version)
        for token_id, token in sorted(view.image.delegation_tokens.tokens.items())
        if _may_see(view, context, owners, token_id, token)
    ]
    return DescribeDelegationTokenResponse(tokens=tokens)


def _may_see(
    view: NodeView, context: RequestContext, owners: AbstractSet[str] | None, token_id: str, token: DelegationToken
) -> bool:
    concerned = {token.owner, token.requester, *token.renewers}
    if owners is not None and not owners & concerned:
        return False
    may = view.authorizer.is_allowed
    return (
        str(context.principal) in concerned
        or may(context, AclOperation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token_id)
        or may(context, AclOperation.DESCRIBE_TOKENS, ResourceType.USER, token.owner)
    )


def _described(token_id: str, token: DelegationToken, secret: bytes, api_version: int) -> DescribedDelegationToken:
    owner, requester = Principal.parse(token.owner), Principal.parse(token.requester)
    described = DescribedDelegationToken(
        principal_type=owner.type,
        principal_name=owner.name,
        issue_timestamp=token.issue_timestamp,
        expiry_timestamp=token.expiration_timestamp,
        max_timestamp=token.max_timestamp,
        token_id=token_id,
        hmac=secret,
        renewers=[
            DescribedDelegationTokenRenewer(renewer.type, renewer.name)
            for renewer in map(Principal.parse, token.renewers)
        ],
    )
    if api_version >= _REQUESTER_SINCE:
        described.token_requester_principal_type = requester.type
        described.token_requester_principal_name = requester.name
    return described


ROUTE: Final[Route[NodeView, DescribeDelegationTokenRequest]] = Route(NodeView, DescribeDelegationTokenRequest, handle)
