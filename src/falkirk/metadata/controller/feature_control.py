"""Supported and finalized features (KIP-584, KIP-1022)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.controller.settings import ControllerSettings
    from falkirk.metadata.controller.state import ControllerState
    from falkirk.metadata.image.broker_registration import SupportedFeature
    from falkirk.versions.supported_range import SupportedRange


class UnsupportingNode(NamedTuple):
    """A registered node that cannot run a level; `supported` None: it does not know the feature."""

    node_id: int
    is_controller: bool
    supported: SupportedFeature | None


class FeatureControl:
    """Supported and finalized features. Changing them is not among what a controller does yet."""

    def __init__(self, state: ControllerState, settings: ControllerSettings) -> None:
        self._state = state
        self._settings = settings

    @property
    def supported_features(self) -> Mapping[str, SupportedRange]:
        """Give what this controller supports, by name."""
        return self._settings.supported_features

    def finalized_features(self, *, kraft_version: int = 0) -> dict[str, int]:
        """Give the finalized levels by name, sorted; those at level 0 are not among them."""
        return self._state.image.features.levels(kraft_version=kraft_version)

    @property
    def is_elr_enabled(self) -> bool:
        """Say whether eligible leader replicas are kept (KIP-966)."""
        return self._state.image.features.is_elr_enabled

    def unsupporting_nodes(self, name: str, level: int) -> list[UnsupportingNode]:
        """Give the registered brokers, then the controllers, that cannot run a feature at a level, by id.

        Fenced brokers count: they may come back. Controllers register from 3.7-IV0 on; others nobody knows.
        """
        cluster = self._state.image.cluster
        nodes: list[UnsupportingNode] = []
        for is_controller, registered in ((False, cluster.brokers), (True, cluster.controllers)):
            for node_id in sorted(registered):
                feature = next((known for known in registered[node_id].features if known.name == name), None)
                if not _supports(feature, level):
                    nodes.append(UnsupportingNode(node_id, is_controller, feature))
        return nodes


def _supports(feature: SupportedFeature | None, level: int) -> bool:
    if feature is None:
        # As Kafka counts: who does not know a feature has it at level 0.
        return level == 0
    return feature.min_supported_version <= level <= feature.max_supported_version
