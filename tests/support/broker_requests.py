"""Broker requests as live brokers send them, for a controller of tests/support/controllers.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controllers import CLUSTER_ID, directory, incarnation

from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.messages import BrokerHeartbeatRequest, BrokerHeartbeatResponse, BrokerRegistrationRequest
from falkirk.protocol.messages.broker_registration_request import Feature, Listener
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from falkirk.metadata.controller.controller import Controller
    from falkirk.metadata.controller.state.result import ControllerResult
    from falkirk.metadata.image.broker_registration import BrokerRegistration

CAUGHT_UP = 1_000_000
"""A metadata offset beyond everything that a test appends."""


def registration_request(broker_id: int = 1, *, start: int = 0, release: str = "4.4", **fields):
    """Return a broker's registration at its start number `start`, with one log directory unless `fields` differ."""
    features = [
        Feature(name, levels.lowest, levels.highest)
        for name, levels in Release.parse(release).supported_features().items()
    ]
    given = {
        "broker_id": broker_id,
        "cluster_id": CLUSTER_ID,
        "incarnation_id": incarnation(broker_id, start),
        "listeners": [Listener("PLAINTEXT", f"broker-{broker_id}", 9092, 0)],
        "features": features,
        "rack": None,
        "log_dirs": (directory(broker_id),),
    }
    return BrokerRegistrationRequest(**{**given, **fields})


def register(
    controller: Controller, request: BrokerRegistrationRequest, *, now_ms: int = 0, api_version: int = 4, **kwargs
) -> ControllerResult[int] | ApiError:
    """Send a BrokerRegistration."""
    given = {"kraft_version": 0, **kwargs}
    return controller.cluster.register_broker(request, api_version=api_version, now_ms=now_ms, **given)


def heartbeat(
    controller: Controller, broker_id: int = 1, *, now_ms: int = 0, offset: int = CAUGHT_UP, **fields
) -> ControllerResult[BrokerHeartbeatResponse]:
    """Return the result of a registered broker's heartbeat; by default it is caught up and wants no change."""
    request = BrokerHeartbeatRequest(
        broker_id, registered(controller, broker_id).broker_epoch, offset, **{"want_fence": False, **fields}
    )
    result = controller.cluster.heartbeat(request, now_ms=now_ms)
    assert not isinstance(result, ApiError)
    return result


def registered(controller: Controller, broker_id: int = 1) -> BrokerRegistration:
    """Return the broker's registration in the image."""
    return controller.state.image.cluster.brokers[broker_id]


def said(response: BrokerHeartbeatResponse) -> str:
    """Return the flags of a response as words."""
    flags = {
        "caught-up": response.is_caught_up,
        "fenced": response.is_fenced,
        "shut-down": response.should_shut_down,
    }
    return " ".join(word for word, flag in flags.items() if flag)
