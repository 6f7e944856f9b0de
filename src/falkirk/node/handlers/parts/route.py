"""How the dispatcher finds a handler, and what it must pass to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.codec.decoder_compiler import OBJECT_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import HandlerResult
    from falkirk.protocol.schema import WireMessage

# Each counts the elements of all arrays together: one that is a number or a run of numbers once, others OBJECT_WEIGHT
# times. An element may cost some KiB while the request is answered; clients that batch send some thousands.
ELEMENTS_MAX: Final = 20_000 * OBJECT_WEIGHT
FEW_ELEMENTS_MAX: Final = 1_000 * OBJECT_WEIGHT
"""For requests that name what a node has few of: features, the one partition of the metadata log."""

PARTITION_ELEMENTS_MAX: Final = 200_000
"""For requests that list topics and partitions, of which a broker may have so many: 50,000 topics.

Not for those that change them: one may change 10,000 things (MAX_RECORDS_PER_USER_OP).
"""

NODE_ELEMENTS_MAX: Final = 1_000_000
"""For requests in which a broker sends all that it has at once, and again if they are refused."""

V = TypeVar("V")
R = TypeVar("R", bound="WireMessage")


@dataclass(frozen=True, slots=True)
class Route(Generic[V, R]):
    """The handler of an API, for all versions of its request.

    `needs`: the kind of view. Only the active controller has a ControllerView: other nodes answer NOT_CONTROLLER.
    What a client did wrong is an error code in the handler's response, never an exception. `elements_max`: how many
    elements the arrays of a request may have together, as the decoder counts them; one with more costs its client the
    connection.
    """

    needs: type[V]
    request: type[R]
    handler: "Callable[[V, RequestContext, R], HandlerResult]"
    elements_max: int = ELEMENTS_MAX

    @property
    def api_key(self) -> int:
        """The key of the API, from the schema of its request."""
        key = self.request.SCHEMA.info.key
        assert key is not None, "a request"
        return key

    @property
    def needs_controller(self) -> bool:
        """True if only the active controller answers."""
        return self.needs is ControllerView
