"""What one release supports of one API: versions, listeners, and the headers around it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from falkirk.versions.supported_range import SupportedRange

_CONTROLLED_SHUTDOWN: Final = 7
_API_VERSIONS: Final = 18


class Listener(Enum):
    """The kind of server that offers an API, by the name in Kafka's schemas."""

    ZK_BROKER = "zkBroker"
    BROKER = "broker"
    CONTROLLER = "controller"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSupport:
    """One API in one release. Versions that are None: the release still knows the key, and serves no version of it."""

    key: int
    name: str
    versions: "SupportedRange | None"
    # What is offered without unstable.api.versions.enable.
    stable_versions: "SupportedRange | None"
    # Served, but logged as deprecated.
    deprecated_versions: "SupportedRange | None"
    # First flexible version, whether the release still has it or not; None: none is, up to its highest.
    flexible_from: int | None
    listeners: frozenset[Listener]
    # A broker passes it on to the controller.
    forwardable: bool
    # Only for other nodes: needs CLUSTER_ACTION on the cluster.
    cluster_action: bool

    def offered_versions(self, *, unstable: bool) -> SupportedRange | None:
        """Return the versions that a node offers, with unstable.api.versions.enable or without."""
        return self.versions if unstable else self.stable_versions

    def is_flexible(self, version: int) -> bool:
        """Return whether the version has compact and tagged fields (KIP-482)."""
        return self.flexible_from is not None and version >= self.flexible_from

    def request_header_version(self, version: int) -> int:
        """Return the version of the header before a request of this version."""
        if self.key == _CONTROLLED_SHUTDOWN and version == 0:
            return 0  # the one request without a client id
        return 2 if self.is_flexible(version) else 1

    def response_header_version(self, version: int) -> int:
        """Return the version of the header before a response of this version."""
        if self.key == _API_VERSIONS:
            return 0  # a client must be able to read it before it knows what the broker speaks (KIP-511)
        return 1 if self.is_flexible(version) else 0
