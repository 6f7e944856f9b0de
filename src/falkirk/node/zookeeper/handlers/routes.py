"""Which handler answers which API of a broker on ZooKeeper; no other API is served."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.handlers import sasl_authenticate, sasl_handshake
from falkirk.node.zookeeper.handlers import api_versions, describe_cluster, metadata, update_features
from falkirk.node.zookeeper.handlers.zookeeper_view import Route
from falkirk.versions.api_support import Listener

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.versions.release import Release
    from falkirk.versions.supported_range import SupportedRange

_ROUTES: Iterable[Route] = (
    metadata.ROUTE,
    # Out of place wherever they come to a handler: the same in every mode.
    Route(api_key=sasl_handshake.ROUTE.api_key, handler=sasl_handshake.handle),
    api_versions.ROUTE,
    Route(api_key=sasl_authenticate.ROUTE.api_key, handler=sasl_authenticate.handle),
    update_features.ROUTE,
    describe_cluster.ROUTE,
)

ROUTES: Final[Mapping[int, Route]] = {route.api_key: route for route in _ROUTES}


def served_ranges(release: Release, *, unstable: bool) -> dict[int, SupportedRange]:
    """Give the versions that a broker on ZooKeeper of ours serves, as the release offers them, by API key."""
    offered = release.api_ranges(Listener.ZK_BROKER, unstable=unstable)
    return {key: offered[key] for key in ROUTES if key in offered}
