"""The configuration of a node: the typed form of server.properties, and the release that it runs as."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from falkirk.node.config.security_settings import SecuritySettings
from falkirk.versions.features import FALKIRK_DOWNGRADE
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.endpoint import Endpoint
    from falkirk.versions.release import Release

BROKER = "broker"
CONTROLLER = "controller"
_SLASHES: Final = re.compile("/+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """One of the node's listeners. `advertised`: the address that others connect to, if `is_advertised`."""

    name: str
    security_protocol: str  # PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL
    endpoint: "Endpoint"
    advertised: "Endpoint"
    is_controller: bool
    is_advertised: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfig:
    """Names are those of Kafka's configuration, times are in ms; `properties` has all of the file, as text."""

    release: "Release"
    node_id: int
    process_roles: frozenset[str]
    listeners: tuple[Listener, ...]
    controller_listener_names: tuple[str, ...]
    # controller.quorum.voters; None with controller.quorum.bootstrap.servers.
    quorum_voters: "Mapping[int, Endpoint] | None"
    quorum_bootstrap_servers: "tuple[Endpoint, ...]"
    log_dirs: tuple[str, ...]
    metadata_log_dir: str
    rack: str | None = None
    properties: "Mapping[str, str]" = field(default_factory=dict)
    # A controller connects to brokers at it; None: it is not configured there.
    inter_broker_listener_name: str | None = None
    security: SecuritySettings = field(default_factory=SecuritySettings)
    # Quorum
    quorum_election_timeout_ms: int = 1000
    quorum_election_backoff_max_ms: int = 1000
    quorum_fetch_timeout_ms: int = 2000
    quorum_request_timeout_ms: int = 2000
    quorum_retry_backoff_ms: int = 20
    quorum_auto_join: bool = False
    # Metadata log
    metadata_log_segment_bytes: int = 1024 * 1024 * 1024
    metadata_log_segment_ms: int = 7 * 24 * 3600 * 1000
    metadata_max_retention_bytes: int = 100 * 1024 * 1024
    metadata_max_retention_ms: int = 7 * 24 * 3600 * 1000
    metadata_log_max_record_bytes_between_snapshots: int = 20 * 1024 * 1024
    metadata_log_max_snapshot_interval_ms: int = 3600 * 1000
    metadata_max_idle_interval_ms: int = 500
    # Controller
    num_partitions: int = 1
    default_replication_factor: int = 1
    broker_session_timeout_ms: int = 9000
    broker_heartbeat_interval_ms: int = 2000
    auto_leader_rebalance_enable: bool = True
    leader_imbalance_check_interval_ms: int = 300 * 1000
    authorizer_class_name: str = ""
    super_users: str = ""
    allow_everyone_if_no_acl_found: bool = False
    delegation_token_secret_key: str | None = None
    delegation_token_max_lifetime_ms: int = 7 * 24 * 3600 * 1000
    delegation_token_expiry_time_ms: int = 24 * 3600 * 1000
    delegation_token_expiry_check_interval_ms: int = 3600 * 1000
    unstable_api_versions_enable: bool = False
    unstable_feature_versions_enable: bool = False
    # Lowering metadata.version, not Kafka's: falkirk.downgrade.enable, and falkirk.undo.dir (None: beside the log).
    downgrade_enable: bool = True
    # Whether clients see that it can, as a feature in ApiVersions: falkirk.downgrade.advertise.
    downgrade_advertise: bool = True
    undo_dir: str | None = None
    # Whether this controller is in the quorum for a lift only, and so does not register. Not Kafka's: falkirk.lift.
    is_lift: bool = False
    # Whether the group coordinator skips unknown records and tags as KIP-915 asks. Not Kafka's:
    # falkirk.group.coordinator.tolerant.
    tolerant_group_coordinator: bool = False
    # Limits
    socket_request_max_bytes: int = 100 * 1024 * 1024
    queued_max_requests: int = 500
    connections_max_idle_ms: int = 10 * 60 * 1000
    # How much of a snapshot is written and synced in one step. Not Kafka's, which has a thread for it.
    snapshot_piece_bytes: int = 1024 * 1024
    # Whether every answered request is a fact (`connections.request_facts`). Not Kafka's: set by the driver.
    has_request_facts: bool = False
    # Where relative log directories are, set by the driver; empty: they stay relative.
    working_directory: str = ""
    # Where the driver serves metrics, host:port; None: nowhere. Not Kafka's: falkirk.metrics.listener.
    metrics_listener: str | None = None

    @property
    def supported_features(self) -> dict[str, SupportedRange]:
        """Return the node's supported ranges, sorted by name: those of its release, and our own.

        `falkirk.downgrade` says that the node follows when metadata.version is lowered (KIP-1155 has a metadata.version
        for that, which no release got). It is never finalized.
        """
        return self._features(unstable=self.unstable_feature_versions_enable)

    def reported_features(self, *, is_controller: bool) -> dict[str, SupportedRange]:
        """Return the supported ranges that clients are told on a listener; registrations have `supported_features`.

        Source: SimpleApiVersionManager of controllers, which goes by unstable.api.versions.enable for them, too.
        """
        unstable = self.unstable_api_versions_enable if is_controller else self.unstable_feature_versions_enable
        supported = self._features(unstable=unstable)
        if not self.downgrade_advertise:
            supported.pop(FALKIRK_DOWNGRADE, None)
        return supported

    def log_dir_path(self, name: str) -> str:
        """Return the path of a log directory as clients are told it: absolute, without superfluous slashes.

        Source: java.io.File.getAbsolutePath, by which brokers know their directories.
        """
        is_relative = self.working_directory and not name.startswith("/")
        path = f"{self.working_directory}/{name}" if is_relative else name
        return _SLASHES.sub("/", path).rstrip("/") or "/"

    def _features(self, *, unstable: bool) -> dict[str, SupportedRange]:
        supported = self.release.supported_features(unstable=unstable)
        if self.downgrade_enable:
            supported[FALKIRK_DOWNGRADE] = SupportedRange(0, 1)
        return dict(sorted(supported.items()))

    @property
    def is_controller(self) -> bool:
        """True if `process.roles` has the controller role."""
        return CONTROLLER in self.process_roles

    @property
    def is_broker(self) -> bool:
        """True if `process.roles` has the broker role."""
        return BROKER in self.process_roles
