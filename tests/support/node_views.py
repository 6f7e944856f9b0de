"""Views for handlers under test, and authorizers with prepared decisions."""

from __future__ import annotations

from dataclasses import fields
from random import Random
from typing import TYPE_CHECKING, Any

from controllers import CLUSTER_ID, CONTROLLER_ID, run
from immutables import Map

from falkirk.metadata.acls.acl_types import (
    CLUSTER_NAME,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclOperation,
    PatternType,
    ResourceType,
)
from falkirk.metadata.acls.authorizer import ALLOW_ALL, Authorizer
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.image.acls import ALLOW, DENY, Acl, AclsImage
from falkirk.metadata.requests.request_context import RequestContext
from falkirk.node.broker.broker_services import BrokerServices
from falkirk.node.connections.client_quotas import ClientQuotas, QuotaWindows
from falkirk.node.handlers.parts.handler_result import InSlices
from falkirk.node.handlers.parts.view import BrokerView, ControllerView, NodeView
from falkirk.node.handlers.routes import ROUTES
from falkirk.protocol import codec
from falkirk.protocol.schema import WireMessage
from falkirk.slices import exhaust

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.metadata.controller.controller import Controller
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.versions.release import Release


def cluster_authorizer(operations: Iterable[int] | None = None, *, denied: Iterable[int] = ()) -> Authorizer:
    """Allow everyone some operations on the cluster and nothing else; None: everything that is not denied."""
    entries = [(operation, DENY) for operation in denied]
    entries += [(AclOperation.ALL if operations is None else operation, ALLOW) for operation in operations or (0,)]
    acls = {
        bytes([index]) * 16: Acl(
            ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL, WILDCARD_PRINCIPAL, WILDCARD, operation, permission
        )
        for index, (operation, permission) in enumerate(entries)
    }
    return Authorizer.of(AclsImage(Map(acls)))


class NoTopicCreation:
    """Stands in for a broker that creates no topics."""

    is_enabled = False

    def create_internal(self, name: str) -> None:
        """Create nothing."""


def node_view(image: MetadataImage, release: Release, **given: Any) -> NodeView:
    """Return the view, on a controller listener, of a node that is not the active controller."""
    return NodeView(**_node_fields(image, release) | given)


def broker_view_of(image: MetadataImage, release: Release, **given: Any) -> BrokerView:
    """Return a broker's view; `given` has fields of BrokerView and BrokerServices, which default to no parts."""
    services: dict[str, Any] = {field.name: None for field in fields(BrokerServices)}
    services |= {"topic_creation": NoTopicCreation(), "fetch_bytes_max": 55 * 1024 * 1024}
    services |= {name: given.pop(name) for name in services.keys() & given.keys()}
    return BrokerView(**_node_fields(image, release) | {"broker": BrokerServices(**services)} | given)


def _node_fields(image: MetadataImage, release: Release) -> dict[str, Any]:
    return {
        "node_id": 1,
        "cluster_id": CLUSTER_ID,
        "release": release,
        "image": image,
        "authorizer": ALLOW_ALL,
        "now_ms": 0,
        "api_ranges": {},
        "kraft_version": 0,
        "supported_features": {},
        "leader_id": None,
        "features_epoch": image.provenance.end_offset - 1,
        "static_configs": {},
        "metadata_progress": None,
        "quotas": ClientQuotas(lambda: image.client_quotas, lambda: 0, QuotaWindows(), QuotaWindows()),
        "random": Random(0),
    }


def view_of(
    controller: Controller, *, operations: Iterable[int] | None = None, denied: Iterable[int] = (), **given: Any
) -> ControllerView:
    """Return the view of the active controller's node; `operations` and `denied` as for `cluster_authorizer`."""
    own = {
        "node_id": CONTROLLER_ID,
        "leader_id": CONTROLLER_ID,
        "authorizer": cluster_authorizer(operations, denied=denied),
        "controller": controller,
        "feature_updates": None,
    }
    common = _node_fields(controller.state.image, controller.settings.release)
    return ControllerView(**common | own | given)


def context_of(request: WireMessage, version: int | None = None, **fields) -> RequestContext:
    """Return the context of a request in a version, by default the newest."""
    info = request.SCHEMA.info
    return RequestContext(api_key=info.key, api_version=max(info.versions) if version is None else version, **fields)


def over_the_wire(message: WireMessage, version: int) -> WireMessage:
    """Return the message as the other side decodes it."""
    return codec.decode(type(message), version, codec.encode(message, version))


def ask(
    controller: Controller,
    request: WireMessage,
    version: int | None = None,
    *,
    context: Mapping[str, Any] | None = None,
    **fields: Any,
) -> WireMessage:
    """Send a request over the wire to its handler and return the response; records are appended and committed.

    `context`: fields of the request's context; `fields`: as for `view_of`.
    """
    asked = context_of(request, version, **(context or {}))
    given = over_the_wire(request, asked.api_version)
    result = ROUTES[asked.api_key].handler(view_of(controller, **fields), asked, given)
    if isinstance(result, InSlices):
        result = exhaust(result.decide())
    response = run(controller, result) if isinstance(result, ControllerResult) else result
    assert isinstance(response, WireMessage)
    return over_the_wire(response, asked.api_version)
