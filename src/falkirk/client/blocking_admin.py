"""The Admin client without an event loop: each call blocks until its answer.

with Admin(parse_servers("broker:9092"), ClientConfig()) as admin:
    level = admin.describe_features().finalized_features["metadata.version"].max_version_level
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from falkirk.client.admin import AsyncAdmin, EndpointType
from falkirk.client.event_loop import new_runner

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from falkirk.client.cluster_description import ClusterDescription, ClusterNode
    from falkirk.client.config import ClientConfig
    from falkirk.client.errors import ClientError
    from falkirk.client.feature_metadata import FeatureMetadata
    from falkirk.client.feature_update import FeatureUpdate, UpdateFeaturesResult
    from falkirk.client.node_versions import NodeVersions
    from falkirk.protocol.endpoint import Endpoint


class Admin:
    """An AsyncAdmin on an event loop of its own, for one thread. Methods return and raise as those of AsyncAdmin."""

    def __init__(
        self,
        bootstrap: Sequence[Endpoint],
        config: ClientConfig,
        *,
        endpoint_type: EndpointType = EndpointType.BROKER,
    ) -> None:
        self._admin = AsyncAdmin(bootstrap, config, endpoint_type=endpoint_type)
        self._runner = new_runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; no request can follow."""
        with self._runner:
            self._runner.run(self._admin.close())

    def describe_cluster(self) -> ClusterDescription:
        """Return the brokers, or the controllers if the bootstrap servers are controllers."""
        return self._runner.run(self._admin.describe_cluster())

    def api_versions(self, nodes: Iterable[ClusterNode]) -> Mapping[int, NodeVersions | ClientError]:
        """Return the API versions of each node, or its error."""
        return self._runner.run(self._admin.api_versions(nodes))

    def describe_features(self) -> FeatureMetadata:
        """Return the finalized features, and the supported features of one node."""
        return self._runner.run(self._admin.describe_features())

    def newest_features(self) -> FeatureMetadata:
        """Return the same, with the controller's finalized features if they are newer."""
        return self._runner.run(self._admin.newest_features())

    def update_features(
        self,
        updates: Mapping[str, FeatureUpdate],
        *,
        validate_only: bool = False,
        timeout_ms: int = 60_000,
        forced_snapshot: bool = False,
        abort_transactions: bool = False,
    ) -> UpdateFeaturesResult:
        """Change finalized features, or check whether they could be changed."""
        return self._runner.run(
            self._admin.update_features(
                updates,
                validate_only=validate_only,
                timeout_ms=timeout_ms,
                forced_snapshot=forced_snapshot,
                abort_transactions=abort_transactions,
            )
        )
