"""AlterClientQuotas (key 49), v0-1: set and remove quotas of users, client ids and addresses. KIP-546.

Behaviour: needs ALTER_CONFIGS on CLUSTER; served by the active controller. Each entity has its own result.
Version notes: v1 is the first flexible version.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.handler_result import InSlices
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.mapped_array import mapped_array
from falkirk.protocol.messages import AlterClientQuotasRequest, AlterClientQuotasResponse
from falkirk.protocol.messages.alter_client_quotas_response import EntityData, EntryData

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.metadata.records.record_key import QuotaEntity
    from falkirk.metadata.requests.api_error import ApiError
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.messages.alter_client_quotas_request import EntryData as AlteredEntry
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices


def handle(view: ControllerView, context: RequestContext, request: AlterClientQuotasRequest) -> WireMessage | InSlices:
    """Change the quotas whose entity and values are valid."""
    refused = refusal(view, context, request, AclOperation.ALTER_CONFIGS)
    if refused is not None:
        return refused
    return InSlices(partial(_alter, view, request))


def _alter(view: ControllerView, request: AlterClientQuotasRequest) -> Slices[ControllerResult[WireMessage]]:
    alterations = mapped_array(_alteration, request.entries)
    result = yield from view.controller.client_quotas.alter_client_quotas(alterations)
    entries = mapped_array(_altered, result.response.items())
    return ControllerResult(() if request.validate_only else result.records, AlterClientQuotasResponse(entries=entries))


def _altered(outcome: tuple[QuotaEntity, ApiError]) -> EntryData:
    entity, error = outcome
    return EntryData(error.error_code, error.message, [EntityData(kind, name) for kind, name in entity])


def _alteration(entry: AlteredEntry) -> tuple[QuotaEntity, Sequence[tuple[str, float | None]]]:
    return _entity(entry), [(op.key, None if op.remove else op.value) for op in entry.ops]


def _entity(entry: AlteredEntry) -> QuotaEntity:
    return tuple(sorted({data.entity_type: data.entity_name for data in entry.entity}.items()))


ROUTE: Final[Route[ControllerView, AlterClientQuotasRequest]] = Route(ControllerView, AlterClientQuotasRequest, handle)
