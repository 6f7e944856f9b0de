"""The broker epoch check: a request must come from the current registration of its broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from falkirk.metadata.image.broker_registration import BrokerRegistration
    from falkirk.metadata.image.cluster import ClusterImage


def broker_of_epoch(cluster: ClusterImage, broker_id: int, broker_epoch: int) -> BrokerRegistration | ApiError:
    """Return the registration; STALE_BROKER_EPOCH if the broker is not registered, or in another epoch."""
    broker = cluster.brokers.get(broker_id)
    if broker is None:
        return ApiError(ErrorCode.STALE_BROKER_EPOCH, f"No broker registration found for broker id {broker_id}")
    if broker.broker_epoch != broker_epoch:
        return ApiError(
            ErrorCode.STALE_BROKER_EPOCH,
            f"Expected broker epoch {broker.broker_epoch}, but got broker epoch {broker_epoch}",
        )
    return broker
