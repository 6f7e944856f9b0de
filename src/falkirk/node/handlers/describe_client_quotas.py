"""DescribeClientQuotas (key 48), v0-1: the quotas of entities that a filter matches. KIP-546, KIP-612.

Behaviour: needs DESCRIBE_CONFIGS on CLUSTER; brokers answer, from what is published. A component of the filter names a
type of entity, and a name (EXACT), the default (DEFAULT) or any name or default (ANY); `strict`: an entity has no other
types. A type that nobody knows is UNSUPPORTED_VERSION; one that stands twice, a name where there must be none or the
other way round, or `ip` besides others is INVALID_REQUEST.
Version notes: v1 is the first flexible version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.metadata.controller.api_error import NO_ERROR, ApiError
from falkirk.node.handlers.cluster_authorization import refusal
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import DescribeClientQuotasRequest, DescribeClientQuotasResponse
from falkirk.protocol.messages.describe_client_quotas_response import EntityData, EntryData, ValueData

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.metadata.record_key import QuotaEntity
    from falkirk.protocol.messages.describe_client_quotas_request import ComponentData
    from falkirk.protocol.schema import WireMessage


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> WireMessage:
    """Tell the quotas."""
    assert isinstance(request, DescribeClientQuotasRequest)
    refused = refusal(view, context, request, AclOperation.DESCRIBE_CONFIGS)
    if refused is not None:
        return refused
    error = _why_invalid(request.components)
    if error.is_failure:
        return error_response(request, context.api_version, *error)
    entries: dict[QuotaEntity, list[ValueData]] = {}
    for entity, key, value in view.image.client_quotas:
        entries.setdefault(entity, []).append(ValueData(key, value))
    return DescribeClientQuotasResponse(
        entries=[
            EntryData([EntityData(kind, name) for kind, name in entity], values)
            for entity, values in entries.items()
            if _matches(dict(entity), request)
        ],
    )


def _why_invalid(components: list[ComponentData]) -> ApiError:
    seen: set[str] = set()
    for component in components:
        error = _why_component_is_invalid(component, seen)
        if error.is_failure:
            return error
        seen.add(component.entity_type)
    if _IP in seen and len(seen) > 1:
        message = (
            "Invalid entity filter component combination. IP filter component should not be used with user or "
            "clientId filter component."
        )
        return ApiError(ErrorCode.INVALID_REQUEST, message)
    return NO_ERROR


def _why_component_is_invalid(component: ComponentData, seen: set[str]) -> ApiError:
    kind, match_type = component.entity_type, component.match_type
    message = None
    if not kind:
        message = "Invalid empty entity type."
    elif kind in seen:
        message = f"Entity type {kind} cannot appear more than once in the filter."
    elif kind not in _ENTITY_TYPES:
        return ApiError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
    elif match_type not in _MATCH_TYPES:
        message = f"Unknown match type {match_type}"
    elif match_type == _EXACT and component.match is None:
        message = "Request specified MATCH_TYPE_EXACT, but set match string to null."
    elif match_type != _EXACT and component.match is not None:
        message = f"Request specified {_MATCH_TYPES[match_type]}, but also specified a match string."
    return NO_ERROR if message is None else ApiError(ErrorCode.INVALID_REQUEST, message)


def _matches(entity: dict[str, str | None], request: DescribeClientQuotasRequest) -> bool:
    if request.strict and len(entity) != len(request.components):
        return False
    return all(
        component.entity_type in entity
        and (component.match_type == _ANY or entity[component.entity_type] == component.match)
        for component in request.components
    )


_IP: Final = "ip"
_ENTITY_TYPES: Final = frozenset({_IP, "user", "client-id"})
_EXACT: Final = 0
_ANY: Final = 2
_MATCH_TYPES: Final = {_EXACT: "MATCH_TYPE_EXACT", 1: "MATCH_TYPE_DEFAULT", _ANY: "MATCH_TYPE_SPECIFIED"}

ROUTE: Final = Route(api_key=48, handler=handle, needs_controller=False)
