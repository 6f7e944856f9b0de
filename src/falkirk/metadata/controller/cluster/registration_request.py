"""Registrations of brokers and controllers as their requests tell them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.image.broker_registration import (
    BrokerRegistration,
    Endpoint,
    SupportedFeature,
    sorted_endpoints,
    sorted_features,
)
from falkirk.metadata.image.controller_registration import ControllerRegistration

if TYPE_CHECKING:
    from falkirk.protocol.messages import BrokerRegistrationRequest, ControllerRegistrationRequest


def broker_registration(
    request: BrokerRegistrationRequest,
    broker_epoch: int,
    *,
    fenced: bool = True,
    in_controlled_shutdown: bool = False,
) -> BrokerRegistration:
    """Return the registration that the request describes."""
    return BrokerRegistration(
        broker_id=request.broker_id,
        broker_epoch=broker_epoch,
        incarnation_id=request.incarnation_id,
        end_points=_endpoints(request),
        features=_features(request),
        rack=request.rack,
        fenced=fenced,
        in_controlled_shutdown=in_controlled_shutdown,
        log_dirs=tuple(request.log_dirs),
    )


def controller_registration(request: ControllerRegistrationRequest) -> ControllerRegistration:
    """Return the registration that the request describes. A migration from ZooKeeper that it announces is ignored."""
    return ControllerRegistration(
        controller_id=request.controller_id,
        incarnation_id=request.incarnation_id,
        zk_migration_ready=False,
        end_points=_endpoints(request),
        features=_features(request),
    )


def _endpoints(request: BrokerRegistrationRequest | ControllerRegistrationRequest) -> tuple[Endpoint, ...]:
    return sorted_endpoints(
        Endpoint(listener.name, listener.host, listener.port, listener.security_protocol)
        for listener in request.listeners
    )


def _features(request: BrokerRegistrationRequest | ControllerRegistrationRequest) -> tuple[SupportedFeature, ...]:
    return sorted_features(
        SupportedFeature(feature.name, feature.min_supported_version, feature.max_supported_version)
        for feature in request.features
    )
