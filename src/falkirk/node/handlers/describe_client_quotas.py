"""DescribeClientQuotas (key 48), v0-1: the quotas of entities that a filter matches. KIP-546, KIP-612.

Behaviour: needs DESCRIBE_CONFIGS on CLUSTER; brokers answer, from their image. A component of the filter names an
entity type, and a name (EXACT), the default (DEFAULT) or any name or default (ANY); `strict`: an entity has no other
types. UNSUPPORTED_VERSION for an unknown type; INVALID_REQUEST for a type that appears twice, a name that is missing or
superfluous, or `ip` beside others.
Version notes: v1 is the first flexible version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.metadata.requests.api_error import NO_ERROR, ApiError
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import NodeView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import DescribeClientQuotasRequest, DescribeClientQuotasResponse
from falkirk.protocol.messages.describe_client_quotas_response import EntityData, EntryData, ValueData

if TYPE_CHECKING:
    from falkirk.metadata.records.record_key import QuotaEntity
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.messages.describe_client_quotas_request import ComponentData
    from falkirk.protocol.schema import WireMessage

_IP: Final = "ip"
_ENTITY_TYPES: Final = frozenset({_IP, "user", "client-id"})
_EXACT: Final = 0
_ANY: Final = 2
_MATCH_TYPES: Final = {_EXACT: "MATCH_TYPE_EXACT", 1: "MATCH_TYPE_DEFAULT", _ANY: "MATCH_TYPE_SPECIFIED"}


def handle(view: NodeView, context: RequestContext, request: DescribeClientQuotasRequest) -> WireMessage:
    """Return the quotas of matching entities."""
    refused = refusal(view, context, request, AclOperation.DESCRIBE_CONFIGS, message=None)
    if refused is not None:
        return refused
    error = _filter_error(request.components)
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


def _filter_error(components: list[ComponentData]) -> ApiError:
    seen: set[str] = set()
    for component in components:
        error = _component_error(component, seen)
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


def _component_error(component: ComponentData, seen: set[str]) -> ApiError:
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


ROUTE: Final[Route[NodeView, DescribeClientQuotasRequest]] = Route(NodeView, DescribeClientQuotasRequest, handle)
