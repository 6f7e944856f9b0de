"""AlterConfigs (key 33), v0-2: give resources these configs and no others. KIP-133.

Behaviour: needs ALTER_CONFIGS on the topic or group, else on CLUSTER; served by the active controller. Each resource
has an answer of its own; one that comes twice is refused. IncrementalAlterConfigs has taken its place (KIP-339).
Version notes: v2 is the first flexible version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.result import ControllerResult
from falkirk.node.handlers.config_resources import sort_changes
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.protocol.messages import AlterConfigsRequest, AlterConfigsResponse
from falkirk.protocol.messages.alter_configs_response import AlterConfigsResourceResponse

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> ControllerResult[WireMessage]:
    """Replace the configs of the resources that may be changed."""
    assert isinstance(request, AlterConfigsRequest)
    assert view.controller is not None
    accepted, refused = sort_changes(view, context, request.resources)
    configs = {
        resource: {config.name: config.value for config in given.configs} for resource, given in accepted.items()
    }
    result = view.controller.configs.legacy_alter_configs(configs, is_forwarded=context.is_forwarded)
    responses = [
        AlterConfigsResourceResponse(error.error_code, error.message, resource.resource_type, resource.resource_name)
        for resource, error in (refused | result.response).items()
    ]
    return ControllerResult(() if request.validate_only else result.records, AlterConfigsResponse(responses=responses))


ROUTE: Final = Route(api_key=33, handler=handle, needs_controller=True)
