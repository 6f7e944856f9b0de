"""An accepted connection, and a request on it that has no response yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping  # noqa: TC003
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from falkirk.metadata.requests.request_context import ANONYMOUS, Principal, RequestContext
from falkirk.node.config.node_config import Listener  # noqa: TC001
from falkirk.node.connections.client_usage import AddressUsage  # noqa: TC001
from falkirk.protocol.connection import Connection, RequestReceived
from falkirk.structs import IdentityStruct

if TYPE_CHECKING:
    from falkirk.node.connections.api_uses import ApiUse
    from falkirk.node.connections.authentication import Authentication
    from falkirk.protocol.connection import UnsupportedVersionReceived
    from falkirk.protocol.messages import ApiVersionsRequest
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.supported_range import SupportedRange

_LARGE_REQUEST_BYTES: Final = 4096
SLICED_REQUEST_BYTES: Final = 32 * 1024
"""Requests from here on are decoded over many steps: an element takes a byte or more, and up to 0.75 us."""


@dataclass(slots=True, eq=False)
class ClientConnection:
    """One accepted connection. `held`: requests that wait until earlier ones are answered."""

    connection_id: int
    listener: Listener
    client_host: str
    connection: Connection
    ranges: Mapping[int, SupportedRange]
    # What all connections of its address hold, this one included.
    usage: AddressUsage
    principal: Principal = ANONYMOUS
    # None: the client needs no authentication (any more).
    authentication: "Authentication | None" = None
    software_name: str = ""
    software_version: str = ""
    # The versions that ApiVersions reported; None: the client has not asked.
    negotiated: "Mapping[int, SupportedRange] | None" = None
    last_active_ms: int = 0
    held: "deque[RequestReceived | UnsupportedVersionReceived]" = field(default_factory=deque)
    held_bytes: int = 0
    # As in AddressUsage.
    buffered_bytes: int = 0
    open_bytes: int = 0
    is_closed: bool = False
    # Until when its requests wait, because a quota is used up; 0: they do not.
    throttled_until_ms: int = 0
    # True while a large request is decoded, which later ones wait for.
    is_reading: bool = False
    # A large request that later ones wait for until it is answered.
    exclusive: OpenRequest | None = None
    # Bytes that are not read yet (`Hold`).
    early: bytearray = field(default_factory=bytearray)
    # Requests of one connection are mostly of one kind.
    last_context: RequestContext | None = None
    last_use: "ApiUse | None" = None

    @property
    def is_paused(self) -> bool:
        """True while requests wait, however few are open."""
        return self.throttled_until_ms > 0 or self.exclusive is not None or self.is_reading

    def end_exclusive(self, request: OpenRequest) -> bool:
        """Let later requests go on if they wait for this one; return whether they did."""
        if self.exclusive is not request:
            return False
        self.exclusive = None
        return True

    def context_of(self, event: RequestReceived | UnsupportedVersionReceived) -> RequestContext:
        """Return what a request comes with: mostly what the one before it came with."""
        context = self.last_context
        if (
            context is None
            or context.api_key != event.api_key
            or context.api_version != event.api_version
            or context.client_id != event.client_id
            or context.principal is not self.principal
            or context.software_name is not self.software_name
            or context.software_version is not self.software_version
        ):
            context = self.last_context = RequestContext(
                api_key=event.api_key,
                api_version=event.api_version,
                client_id=event.client_id,
                principal=self.principal,
                client_host=self.client_host,
                listener=self.listener.name,
                security_protocol=self.listener.security_protocol,
                software_name=self.software_name,
                software_version=self.software_version,
            )
            self.last_use = None
        return context

    def record_versions_request(self, request: ApiVersionsRequest) -> None:
        """Remember the client's software, and the versions that are reported to it."""
        self.software_name = request.client_software_name
        self.software_version = request.client_software_version
        self.negotiated = self.ranges


# Made for each request: a Struct costs a third of a dataclass.
class OpenRequest(IdentityStruct):
    """A request that has no response yet. `outer`: the envelope that it came in.

    `message` is None for an ApiVersions in a version that is not supported.
    """

    client: ClientConnection
    request: "RequestReceived | UnsupportedVersionReceived"
    context: RequestContext
    message: "WireMessage | None"
    outer: OpenRequest | None = None
    opened_ms: int = 0
    # True if it is read in slices, or making its response has taken more than one step.
    is_sliced: bool = False

    @property
    def is_large(self) -> bool:
        """True if the response may have very many elements."""
        return self.is_sliced or size_of(self.request) >= _LARGE_REQUEST_BYTES


def size_of(request: RequestReceived | UnsupportedVersionReceived) -> int:
    """Return the size of a request, as far as it is kept."""
    return len(request.frame) if isinstance(request, RequestReceived) else 0
