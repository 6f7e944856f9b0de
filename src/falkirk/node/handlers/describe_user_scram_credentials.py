"""DescribeUserScramCredentials (key 50), v0: mechanisms and iterations of users' SCRAM credentials. KIP-554.

Behaviour: needs DESCRIBE on CLUSTER; every node answers, from its image. No users in the request stand for all; one
that is named twice is refused. Differs from Kafka: its controllers offer this API and fail at it.
Version notes: v0 is flexible.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.metadata.image.scram import ScramUser
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import NodeView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.mapped_array import mapped_array
from falkirk.protocol.messages import DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse
from falkirk.protocol.messages.describe_user_scram_credentials_response import (
    CredentialInfo,
    DescribeUserScramCredentialsResult,
)

if TYPE_CHECKING:
    from falkirk.metadata.image.scram import ScramImage
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

_MECHANISMS: Final = (1, 2)


def handle(view: NodeView, context: RequestContext, request: DescribeUserScramCredentialsRequest) -> WireMessage:
    """Return the credentials without their secrets."""
    refused = refusal(view, context, request, AclOperation.DESCRIBE, message=None)
    if refused is not None:
        return refused
    scram = view.image.scram
    names = sorted(user.name for user in request.users or ())
    repeated = {name for name, following in pairwise(names) if name == following}
    if repeated or not names:
        names = sorted(set(names) or {user.name for user in scram.credentials})
    results = mapped_array(lambda name: _describe(scram, name, is_repeated=name in repeated), names)
    return DescribeUserScramCredentialsResponse(results=results)


def _describe(scram: ScramImage, name: str, *, is_repeated: bool) -> DescribeUserScramCredentialsResult:
    if is_repeated:
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
        return DescribeUserScramCredentialsResult(name, ErrorCode.DUPLICATE_RESOURCE, message)
    credentials = ((mechanism, scram.credentials.get(ScramUser(mechanism, name))) for mechanism in _MECHANISMS)
    infos = [
        CredentialInfo(mechanism, credential.iterations)
        for mechanism, credential in credentials
        if credential is not None
    ]
    if not infos:
        message = f"Attempt to describe a user credential that does not exist: {name}"
        return DescribeUserScramCredentialsResult(name, ErrorCode.RESOURCE_NOT_FOUND, message)
    return DescribeUserScramCredentialsResult(name, credential_infos=infos)


ROUTE: Final[Route[NodeView, DescribeUserScramCredentialsRequest]] = Route(
    NodeView, DescribeUserScramCredentialsRequest, handle
)
