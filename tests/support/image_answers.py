"""Metadata requests answered from an image by the handlers of a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from node_views import broker_view_of, context_of, over_the_wire

from falkirk.node.handlers.parts.handler_result import AnswerInSlices, EncodedResponse
from falkirk.node.handlers.routes import ROUTES
from falkirk.protocol import codec
from falkirk.protocol.messages import RESPONSES, message_class
from falkirk.slices import exhaust
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.handlers.parts.view import BrokerView
    from falkirk.protocol.schema import WireMessage


def view_of_image(image: MetadataImage, **fields: Any) -> BrokerView:
    """Return the view of broker 1, on release 4.3 unless `fields` say otherwise; `fields` as for `broker_view_of`."""
    return broker_view_of(image, fields.pop("release", Release.parse("4.3")), **fields)


def ask_about(
    image: MetadataImage,
    request: WireMessage,
    version: int | None = None,
    *,
    listener: str = "PLAINTEXT",
    **fields: Any,
) -> Any:
    """Send a request over the wire to its handler and return the response; `fields` as for `view_of_image`."""
    context = context_of(request, version, listener=listener)
    given = over_the_wire(request, context.api_version)
    result = ROUTES[context.api_key].handler(view_of_image(image, **fields), context, given)
    if isinstance(result, AnswerInSlices):
        result = exhaust(result.slices)
    if isinstance(result, EncodedResponse):
        return codec.decode(message_class(RESPONSES[context.api_key]), context.api_version, result.body)
    return over_the_wire(result, context.api_version)
