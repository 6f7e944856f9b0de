"""What handlers look at, for tests: a view of a controller, and authorizers that allow what they are told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from controllers import CLUSTER_ID, CONTROLLER_ID, run
from immutables import Map

from falkirk.metadata.acl_types import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclOperation,
    PatternType,
    ResourceType,
)
from falkirk.metadata.authorizer import Authorizer
from falkirk.metadata.controller.request_context import RequestContext
from falkirk.metadata.controller.result import ControllerResult
from falkirk.metadata.image.acls import ALLOW, DENY, Acl, AclsImage
from falkirk.node.handlers.handler import NodeView
from falkirk.node.handlers.routes import ROUTES
from falkirk.protocol import codec
from falkirk.protocol.schema import WireMessage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.metadata.controller.controller import Controller


def cluster_authorizer(operations: Iterable[int] | None = None, *, denied: Iterable[int] = ()) -> Authorizer:
    """Allow some operations on the cluster to everyone, and nothing else; None: all there is, but what is denied."""
    entries = [(operation, DENY) for operation in denied]
    entries += [(AclOperation.ALL if operations is None else operation, ALLOW) for operation in operations or (0,)]
    acls = {
        bytes([index]) * 16: Acl(
            ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL, WILDCARD_PRINCIPAL, WILDCARD, operation, permission
        )
        for index, (operation, permission) in enumerate(entries)
    }
    return Authorizer.of(AclsImage(Map(acls)))


def view_of(
    controller: Controller, *, operations: Iterable[int] | None = None, denied: Iterable[int] = (), **fields
) -> NodeView:
    """Give the view of the active controller's node; `operations` and `denied` as `cluster_authorizer`."""
    view = NodeView(
        node_id=CONTROLLER_ID,
        cluster_id=CLUSTER_ID,
        release=controller.settings.release,
        image=controller.state.image,
        authorizer=cluster_authorizer(operations, denied=denied),
        controller=controller,
        now_ms=0,
        leader_id=CONTROLLER_ID,
    )
    return replace(view, **fields)


def context_of(request: WireMessage, version: int | None = None, **fields) -> RequestContext:
    """Give the context of a request in a version, its newest if None."""
    info = request.SCHEMA.info
    return RequestContext(api_key=info.key, api_version=max(info.versions) if version is None else version, **fields)


def over_the_wire(message: WireMessage, version: int) -> WireMessage:
    """Give what the other side reads."""
    return codec.decode(type(message), version, codec.encode(message, version))


def ask(
    controller: Controller,
    request: WireMessage,
    version: int | None = None,
    *,
    context: Mapping[str, Any] | None = None,
    **fields: Any,
) -> WireMessage:
    """Send a request through the wire to its handler, and its answer back; records are appended and committed.

    `context`: fields of the request's context; `fields`: as `view_of`.
    """
    asked = context_of(request, version, **(context or {}))
    given = over_the_wire(request, asked.api_version)
    result = ROUTES[asked.api_key].handler(view_of(controller, **fields), asked, given)
    response = run(controller, result) if isinstance(result, ControllerResult) else result
    assert isinstance(response, WireMessage)
    return over_the_wire(response, asked.api_version)
