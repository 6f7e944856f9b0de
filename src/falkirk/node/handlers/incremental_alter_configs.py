"""IncrementalAlterConfigs (key 44), v0-1: set, delete, append to and subtract from single configs. KIP-339.

Behaviour: needs ALTER_CONFIGS on the topic or group, else on CLUSTER; served by the active controller. Each resource
has its own result; one that is named twice is refused. Log levels (BROKER_LOGGER) are not changed by controllers.
Version notes: v1 is the first flexible version.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.node.handlers.parts.config_resources import sort_changes
from falkirk.node.handlers.parts.handler_result import InSlices
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.mapped_array import mapped_array
from falkirk.protocol.messages import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse
from falkirk.protocol.messages.incremental_alter_configs_response import AlterConfigsResourceResponse

if TYPE_CHECKING:
    from falkirk.metadata.image.configs import ConfigResource
    from falkirk.metadata.requests.api_error import ApiError
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices


def handle(view: ControllerView, context: RequestContext, request: IncrementalAlterConfigsRequest) -> InSlices:
    """Change the configs that the client may alter."""
    return InSlices(partial(_alter, view, context, request))


def _alter(
    view: ControllerView, context: RequestContext, request: IncrementalAlterConfigsRequest
) -> Slices[ControllerResult[WireMessage]]:
    accepted, refused = yield from sort_changes(view, context, request.resources)
    changes = {
        resource: {config.name: (config.config_operation, config.value) for config in given.configs}
        for resource, given in accepted.items()
    }
    result = yield from view.controller.configs.incremental_alter_configs(changes, is_forwarded=context.is_forwarded)
    refused |= result.response
    responses = mapped_array(_response, refused.items())
    return ControllerResult(
        () if request.validate_only else result.records, IncrementalAlterConfigsResponse(responses=responses)
    )


def _response(outcome: tuple[ConfigResource, ApiError]) -> AlterConfigsResourceResponse:
    resource, error = outcome
    return AlterConfigsResourceResponse(error.error_code, error.message, resource.resource_type, resource.resource_name)


ROUTE: Final[Route[ControllerView, IncrementalAlterConfigsRequest]] = Route(
    ControllerView, IncrementalAlterConfigsRequest, handle
)
