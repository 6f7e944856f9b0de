"""FinalizedWithinSupported: every registered node supports every finalized level (KIP-584)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falkirk.metadata.image.broker_registration import SupportedFeature
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.simulation.views.replica_view import ReplicaView


class FinalizedWithinSupported(Checker):
    """Covers the registrations of brokers and controllers."""

    def __init__(self) -> None:
        self._seen: dict[int, MetadataImage] = {}

    def after_step(self, replica: ReplicaView) -> None:
        """Check a newly published image."""
        image = replica.image
        seen = self._seen.get(replica.node_id)
        if seen is image:
            return
        self._seen[replica.node_id] = image
        if seen is not None and seen.cluster is image.cluster and seen.features is image.features:
            return
        levels = image.features.levels()
        for broker_id, broker in image.cluster.brokers.items():
            self._check(f"broker {broker_id}", broker.features, levels)
        for controller_id, controller in image.cluster.controllers.items():
            self._check(f"controller {controller_id}", controller.features, levels)

    def _check(self, server: str, features: Sequence[SupportedFeature], levels: Mapping[str, int]) -> None:
        supported = {feature.name: feature for feature in features}
        for name, level in levels.items():
            feature = supported.get(name)
            if feature is None:
                raise self.violated(f"{server} does not know {name}, finalized at {level}")
            lowest, highest = feature.min_supported_version, feature.max_supported_version
            if not lowest <= level <= highest:
                raise self.violated(f"{server} supports {name} {lowest} to {highest}, finalized is {level}")
