"""Whether a request comes from the life of a broker that is registered now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.controller.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from falkirk.metadata.image.broker_registration import BrokerRegistration
    from falkirk.metadata.image.cluster import ClusterImage


def broker_of_epoch(cluster: ClusterImage, broker_id: int, broker_epoch: int) -> BrokerRegistration | ApiError:
    """Give the broker; STALE_BROKER_EPOCH if it is not registered, or in another epoch."""
    broker = cluster.brokers.get(broker_id)
    if broker is None:
        return ApiError(ErrorCode.STALE_BROKER_EPOCH, f"No broker registration found for broker id {broker_id}")
    if broker.broker_epoch != broker_epoch:
        return ApiError(
            ErrorCode.STALE_BROKER_EPOCH,
            f"Expected broker epoch {broker.broker_epoch}, but got broker epoch {broker_epoch}",
        )
    return broker
