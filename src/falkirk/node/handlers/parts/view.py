"""What a handler knows of the node: more of it on a broker's listener, and on that of the active controller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.acls.authorizer import Authorizer
    from falkirk.metadata.controller.controller import Controller
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.broker.broker_services import BrokerServices
    from falkirk.node.connections.client_quotas import ClientQuotas
    from falkirk.node.controller.feature_updates import FeatureUpdates
    from falkirk.protocol.chance import Chance
    from falkirk.protocol.metadata_progress_tags import MetadataProgress
    from falkirk.versions.release import Release
    from falkirk.versions.supported_range import SupportedRange


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """The node as it is in this step; kept while nothing in it changes, so that its parts can be compared by identity.

    `image` is the last published (committed) one. `authorizer` allows everything if none is configured. `api_ranges`:
    the versions served by the listener where the request came in. `supported_features`: those that this node
    advertises. `leader_id`: the quorum's leader, None if unknown. `features_epoch`: sent with finalized features; on a
    controller's listener the last offset with which features changed, on a broker's the last offset of the image.
    `static_configs`: all of server.properties, as text. `random`: for what a response leaves to chance.
    """

    node_id: int
    cluster_id: str
    release: "Release"
    image: "MetadataImage"
    authorizer: "Authorizer"
    now_ms: int
    api_ranges: "Mapping[int, SupportedRange]"
    kraft_version: int
    supported_features: "Mapping[str, SupportedRange]"
    leader_id: int | None
    features_epoch: int
    static_configs: "Mapping[str, str]"
    metadata_progress: "Callable[[], MetadataProgress]"
    quotas: "ClientQuotas"
    random: "Chance"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerView(NodeView):
    """The view on every listener of the broker role."""

    broker: "BrokerServices"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerView(NodeView):
    """The view on a listener of the controller role while this node is the active controller."""

    controller: "Controller"
    feature_updates: "FeatureUpdates"
