"""The configuration of a node on ZooKeeper: the typed form of server.properties, and its release."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from falkirk.node.config.security_settings import SecuritySettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.node.config.node_config import Listener
    from falkirk.versions.inter_broker_protocol import InterBrokerProtocol
    from falkirk.versions.release import Release
    from falkirk.versions.supported_range import SupportedRange

FEATURES_PATH: Final = "/features"


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperNodeConfig:
    """Names are those of Kafka's configuration, times are in ms; `properties` has all of the file, as text.

    `supported_features`: the node's own, including `ibp-feature`. `inter_broker_protocol`: the configured one, whatever
    is finalized.
    """

    release: "Release"
    node_id: int
    listeners: "tuple[Listener, ...]"
    # host:port,host:port/chroot, every host with its port.
    zookeeper_connect: str
    inter_broker_listener_name: str
    inter_broker_protocol: "InterBrokerProtocol"
    supported_features: "Mapping[str, SupportedRange]"
    zookeeper_session_timeout_ms: int = 18_000
    zookeeper_connection_timeout_ms: int = 18_000
    # Not Kafka's: falkirk.zookeeper.features.path, .refresh.ms (how often all is read again), falkirk.kip.778.
    features_path: str = FEATURES_PATH
    refresh_ms: int = 60_000
    kip_778: bool = False
    rack: str | None = None
    properties: "Mapping[str, str]" = field(default_factory=dict)
    security: SecuritySettings = field(default_factory=SecuritySettings)
    authorizer_class_name: str = ""
    super_users: str = ""
    allow_everyone_if_no_acl_found: bool = False
    unstable_api_versions_enable: bool = False
    # Limits
    socket_request_max_bytes: int = 100 * 1024 * 1024
    connections_max_idle_ms: int = 10 * 60 * 1000
    # As in `falkirk.node.config.node_config.NodeConfig`.
    has_request_facts: bool = False
    metrics_listener: str | None = None
