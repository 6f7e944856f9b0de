"""Asking the handlers of a broker: an image in, decoded answers out."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from controllers import CLUSTER_ID
from node_views import context_of, over_the_wire

from falkirk.metadata.authorizer import ALLOW_ALL
from falkirk.node.handlers.handler import EncodedResponse, NodeView
from falkirk.node.handlers.routes import ROUTES
from falkirk.protocol import codec
from falkirk.protocol.messages import RESPONSES, message_class
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.protocol.schema import WireMessage


def view_of_image(image: MetadataImage, **fields: Any) -> NodeView:
    """Give what the handlers of broker 1 see, on release 4.3 if `fields` do not say another."""
    given = {
        "node_id": 1,
        "cluster_id": CLUSTER_ID,
        "release": Release.parse("4.3"),
        "image": image,
        "authorizer": ALLOW_ALL,
        "controller": None,
        "now_ms": 0,
        "is_broker": True,
        "random": Random(0),
    }
    return NodeView(**(given | fields))


def ask_about(
    image: MetadataImage,
    request: WireMessage,
    version: int | None = None,
    *,
    listener: str = "PLAINTEXT",
    **fields: Any,
) -> Any:
    """Send a request through the wire to its handler, and its answer back; `fields`: as `view_of_image`."""
    context = context_of(request, version, listener=listener)
    given = over_the_wire(request, context.api_version)
    result = ROUTES[context.api_key].handler(view_of_image(image, **fields), context, given)
    if isinstance(result, EncodedResponse):
        return codec.decode(message_class(RESPONSES[context.api_key]), context.api_version, result.body)
    return over_the_wire(result, context.api_version)
