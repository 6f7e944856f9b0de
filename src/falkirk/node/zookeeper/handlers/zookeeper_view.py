"""What a handler of a broker on ZooKeeper gets and gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.authorizer import Authorizer
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.metadata.zookeeper.broker_znode import BrokerZnode
    from falkirk.metadata.zookeeper.finalized_features import FinalizedRange, Supported
    from falkirk.node.handlers.handler import AnswerLater, EncodedResponse
    from falkirk.protocol.messages import UpdateFeaturesRequest, UpdateFeaturesResponse
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.supported_range import SupportedRange

NO_EPOCH = -1
"""Told as the epoch of finalized features where none is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperView:
    """What a handler may look at; a view is kept until something in it changes.

    `authorizer` allows everything where none is configured. `finalized`, `features_epoch`: as this node's cache has
    them, nothing and NO_EPOCH while features are disabled or not known. `brokers`: those that are registered, by id.
    `controller_id`: -1 if nobody is known to be it. `supports_features`: what this node's inter.broker.protocol.version
    says. `internal_topics`: names that are Kafka's own. `update_features`: has an update decided, and hands on the
    answer; None while another node is the controller.
    """

    cluster_id: str
    authorizer: Authorizer
    api_ranges: Mapping[int, SupportedRange]
    supported_features: Supported
    finalized: Mapping[str, FinalizedRange]
    features_epoch: int
    brokers: Mapping[int, BrokerZnode]
    controller_id: int
    supports_features: bool
    internal_topics: frozenset[str]
    update_features: Callable[[UpdateFeaturesRequest, int, Callable[[UpdateFeaturesResponse], None]], None] | None


HandlerResult = Union["WireMessage", "EncodedResponse", "AnswerLater"]

Handler = Callable[["ZooKeeperView", "RequestContext", "WireMessage"], HandlerResult]
"""Answers one API, for all its versions. What the client did wrong is an error code in the response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """An API and its handler."""

    api_key: int
    handler: Handler
