"""What a handler of a broker on ZooKeeper knows of the node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.acls.authorizer import Authorizer
    from falkirk.metadata.zookeeper.broker_znode import BrokerZnode
    from falkirk.metadata.zookeeper.finalized_features import FinalizedRange, Supported
    from falkirk.protocol.messages import UpdateFeaturesRequest, UpdateFeaturesResponse
    from falkirk.versions.supported_range import SupportedRange


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperView:
    """The node's state for handlers; a view is reused until something in it changes.

    `authorizer` allows everything if none is configured. `finalized`, `features_epoch`: from this node's cache, empty
    and -1 while features are disabled or unknown. `brokers`: registered ones, by id. `controller_id`: -1 if unknown.
    `supports_features`: by this node's inter.broker.protocol.version. `internal_topics`: names that are Kafka's own.
    `update_features`: decides on an update and answers it; None while another node is the controller.
    """

    cluster_id: str
    authorizer: "Authorizer"
    api_ranges: "Mapping[int, SupportedRange]"
    supported_features: "Supported"
    finalized: "Mapping[str, FinalizedRange]"
    features_epoch: int
    brokers: "Mapping[int, BrokerZnode]"
    controller_id: int
    supports_features: bool
    internal_topics: frozenset[str]
    update_features: "Callable[[UpdateFeaturesRequest, int, Callable[[UpdateFeaturesResponse], None]], None] | None"
