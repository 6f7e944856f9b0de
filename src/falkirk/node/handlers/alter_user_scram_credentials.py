"""AlterUserScramCredentials (key 51), v0: set and delete SCRAM credentials. KIP-554, KIP-900.

Behaviour: needs ALTER on CLUSTER; served by the active controller, from metadata.version 3.5-IV2 on. Each user has its
own result; one that is named twice is refused.
Version notes: v0 is flexible.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.metadata.controller.security.scram_control import ScramUpsertion
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.image.scram import ScramUser
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.handler_result import InSlices
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.mapped_array import mapped_array
from falkirk.protocol.messages import AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse
from falkirk.protocol.messages.alter_user_scram_credentials_response import AlterUserScramCredentialsResult

if TYPE_CHECKING:
    from falkirk.metadata.requests.api_error import ApiError
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices


def handle(
    view: ControllerView, context: RequestContext, request: AlterUserScramCredentialsRequest
) -> WireMessage | InSlices:
    """Change the credentials whose users and values are valid."""
    return refusal(view, context, request, AclOperation.ALTER) or InSlices(partial(_alter, view, request))


def _alter(view: ControllerView, request: AlterUserScramCredentialsRequest) -> Slices[ControllerResult[WireMessage]]:
    result = yield from view.controller.scram.alter_credentials(
        (ScramUser(deletion.mechanism, deletion.name) for deletion in request.deletions),
        (
            ScramUpsertion(
                ScramUser(upsertion.mechanism, upsertion.name),
                upsertion.iterations,
                upsertion.salt,
                upsertion.salted_password,
            )
            for upsertion in request.upsertions
        ),
    )
    results = mapped_array(_result, result.response.items())
    return ControllerResult(result.records, AlterUserScramCredentialsResponse(results=results))


def _result(outcome: tuple[str, ApiError]) -> AlterUserScramCredentialsResult:
    user, error = outcome
    return AlterUserScramCredentialsResult(user, error.error_code, error.message)


ROUTE: Final[Route[ControllerView, AlterUserScramCredentialsRequest]] = Route(
    ControllerView, AlterUserScramCredentialsRequest, handle
)
