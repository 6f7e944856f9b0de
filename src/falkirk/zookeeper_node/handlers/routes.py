"""The handlers of a broker on ZooKeeper; no other API is served."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.handlers import sasl_authenticate, sasl_handshake
from falkirk.versions.api_support import Listener
from falkirk.zookeeper_node.handlers import api_versions, describe_cluster, metadata, update_features

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.node.handlers.routes import AnyRoute
    from falkirk.versions.release import Release
    from falkirk.versions.supported_range import SupportedRange

_ROUTES: Iterable[AnyRoute] = (
    metadata.ROUTE,
    sasl_handshake.ROUTE,
    api_versions.ROUTE,
    sasl_authenticate.ROUTE,
    update_features.ROUTE,
    describe_cluster.ROUTE,
)

ROUTES: Final[Mapping[int, AnyRoute]] = {route.api_key: route for route in _ROUTES}


def served_ranges(release: Release, *, unstable: bool) -> dict[int, SupportedRange]:
    """Return the versions that a broker on ZooKeeper serves, as the release offers them, by API key."""
    offered = release.api_ranges(Listener.ZK_BROKER, unstable=unstable)
    return {key: offered[key] for key in ROUTES if key in offered}
