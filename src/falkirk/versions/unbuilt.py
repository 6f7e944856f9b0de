"""APIs that a release offers on a listener and falkirk does not implement, with the reason.

Such an API is left out of the ApiVersions response, and a request for it closes the connection, as Kafka does for
APIs that a listener does not serve. A line goes when its API is implemented.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.versions.api_support import Listener

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.release import Release
    from falkirk.versions.supported_range import SupportedRange

_GROUPS: Final = "the broker role coordinates no share or streams groups"
_TELEMETRY: Final = "client metrics have no receiver"

UNBUILT: Final[Mapping[tuple[Listener, int], str]] = {
    (Listener.CONTROLLER, 7): "only brokers on ZooKeeper send ControlledShutdown",
    **{(Listener.BROKER, key): _GROUPS for key in (76, 77, 78, 79, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93)},
    **{(Listener.BROKER, key): _TELEMETRY for key in (71, 72)},
}
"""Reason by listener and API key."""


def served_ranges(release: Release, listener: Listener, *, unstable: bool = False) -> dict[int, SupportedRange]:
    """Return the versions that a falkirk node serves on a listener, in order of API keys.

    `unstable`: with unstable.api.versions.enable.
    """
    offered = release.api_ranges(listener, unstable=unstable)
    return {key: versions for key, versions in sorted(offered.items()) if (listener, key) not in UNBUILT}
