"""What a handler gets and gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from falkirk.metadata.authorizer import Authorizer
    from falkirk.metadata.controller.controller import Controller
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.metadata.controller.result import ControllerResult
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """What a handler may look at.

    `image` is the last published (committed) one. `controller` is there only while the node is the active controller:
    handlers that need it never run without it, the dispatcher answers NOT_CONTROLLER in their place.
    `authorizer` allows everything where none is configured.
    """

    node_id: int
    cluster_id: str
    release: Release
    image: MetadataImage
    authorizer: Authorizer
    controller: Controller | None
    now_ms: int


class Handler(Protocol):
    """Answers one API, for all its versions.

    Gives a ControllerResult if records come of it, or the answer rests on the controller's state; else the response.
    """

    def __call__(
        self, view: NodeView, context: RequestContext, request: WireMessage
    ) -> WireMessage | ControllerResult[WireMessage]:
        """Decide. What the client did wrong is an error code in the response, never an exception."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """An API, its handler, and whether only the active controller answers it."""

    api_key: int
    handler: Handler
    needs_controller: bool
