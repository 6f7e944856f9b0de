"""Settings of raft, metadata log, controller and authorizer, from a node's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.acls.authorizer import ALLOW_ALL, Authorizer
from falkirk.metadata.controller.state.settings import ControllerSettings
from falkirk.raft.config import RaftConfig
from falkirk.storage.metadata_log import MetadataLogSettings
from falkirk.versions.features import KRAFT_VERSION
from falkirk.versions.unbuilt import served_ranges

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.image.acls import AclsImage
    from falkirk.node.config.node_config import NodeConfig
    from falkirk.versions.api_support import Listener
    from falkirk.versions.supported_range import SupportedRange

_VOTE = 52


def kraft_version_max(config: NodeConfig) -> int:
    """Return the highest kraft.version of the release; 0 if it does not know the feature."""
    levels = config.release.supported_features().get(KRAFT_VERSION)
    return 0 if levels is None else levels.highest


def listener_ranges(config: NodeConfig, kind: Listener) -> Mapping[int, SupportedRange]:
    """Return the versions of each API, by its key, that the node serves on its listeners of a kind."""
    return served_ranges(config.release, kind, unstable=config.unstable_api_versions_enable)


def raft_config(config: NodeConfig, cluster_id: str, directory_id: bytes) -> RaftConfig:
    """Return the settings of the replica of the metadata log."""
    vote = config.release.apis[_VOTE].stable_versions
    return RaftConfig(
        node_id=config.node_id,
        directory_id=directory_id,
        cluster_id=cluster_id,
        is_controller=config.is_controller,
        static_voters=config.quorum_voters,
        bootstrap_servers=config.quorum_bootstrap_servers,
        listeners={listener.name: listener.advertised for listener in config.listeners if listener.is_controller},
        kraft_version_max=kraft_version_max(config),
        updates_kraft_version=config.release.updates_kraft_version,
        has_pre_vote=vote is not None and vote.highest >= 2,
        auto_join=config.quorum_auto_join,
        follows_lowerings=config.downgrade_enable,
        succeeds_at_once=config.is_lift,
        election_timeout_ms=config.quorum_election_timeout_ms,
        election_backoff_max_ms=config.quorum_election_backoff_max_ms,
        fetch_timeout_ms=config.quorum_fetch_timeout_ms,
        request_timeout_ms=config.quorum_request_timeout_ms,
        retry_backoff_ms=config.quorum_retry_backoff_ms,
    )


def log_settings(config: NodeConfig) -> MetadataLogSettings:
    """Return the settings of the metadata log."""
    return MetadataLogSettings(
        segment_bytes=config.metadata_log_segment_bytes,
        segment_ms=config.metadata_log_segment_ms,
        retention_bytes=config.metadata_max_retention_bytes,
        retention_ms=config.metadata_max_retention_ms,
        snapshot_piece_bytes=config.snapshot_piece_bytes,
    )


def controller_settings(config: NodeConfig, cluster_id: str) -> ControllerSettings:
    """Return the settings of the active controller."""
    interval = config.leader_imbalance_check_interval_ms if config.auto_leader_rebalance_enable else None
    return ControllerSettings(
        node_id=config.node_id,
        cluster_id=cluster_id,
        release=config.release,
        num_partitions=config.num_partitions,
        default_replication_factor=config.default_replication_factor,
        broker_session_timeout_ms=config.broker_session_timeout_ms,
        leader_imbalance_check_interval_ms=interval,
        delegation_token_max_lifetime_ms=config.delegation_token_max_lifetime_ms,
        delegation_token_expiry_time_ms=config.delegation_token_expiry_time_ms,
        delegation_token_expiry_check_interval_ms=config.delegation_token_expiry_check_interval_ms,
        delegation_token_secret_key=config.delegation_token_secret_key,
        metadata_max_idle_interval_ms=config.metadata_max_idle_interval_ms,
        supported_features=config.supported_features,
        static_configs=config.properties,
    )


def authorizer(config: NodeConfig, acls: AclsImage) -> Authorizer:
    """Return Kafka's own authorizer if one is configured, else one that allows everything."""
    if not config.authorizer_class_name:
        return ALLOW_ALL
    return Authorizer.of(
        acls,
        super_users=config.super_users,
        allow_everyone=config.allow_everyone_if_no_acl_found,
        knows_ranges=any(version.cidr_acl_supported for version in config.release.kraft.metadata_versions),
    )
