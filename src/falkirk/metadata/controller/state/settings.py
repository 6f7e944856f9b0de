"""Settings of the controller from its node's server.properties."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.release import Release
    from falkirk.versions.supported_range import SupportedRange


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """Names are those of Kafka's configuration. `static_configs`: all of server.properties, as text."""

    node_id: int
    cluster_id: str
    release: "Release"
    num_partitions: int = 1
    default_replication_factor: int = 1
    broker_session_timeout_ms: int = 9000
    leader_imbalance_check_interval_ms: int | None = 300_000  # None: auto.leader.rebalance.enable is false
    delegation_token_max_lifetime_ms: int = 7 * 24 * 3600 * 1000
    delegation_token_expiry_time_ms: int = 24 * 3600 * 1000
    delegation_token_expiry_check_interval_ms: int = 3600 * 1000
    delegation_token_secret_key: str | None = None
    metadata_max_idle_interval_ms: int = 500  # a NoOpRecord after so long without a record; 0: never
    supported_features: "Mapping[str, SupportedRange]" = field(default_factory=dict)  # what the node tells of itself
    static_configs: "Mapping[str, str]" = field(default_factory=dict)
