"""Format the log directories of a node by its server.properties, and inspect them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.node.config.server_properties import read_server_properties
from falkirk.operations.errors import OperationError
from falkirk.storage.formatting.formatter import FormatRequest
from falkirk.storage.formatting.info import StorageInfo, storage_info
from falkirk.versions.configs.definition import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falkirk.node.config.node_config import NodeConfig
    from falkirk.storage.disk import Disk
    from falkirk.versions.release import Release

_LEGACY: Final = (
    "The kafka configuration file appears to be for a legacy cluster. Formatting is only supported for clusters in "
    "KRaft mode."
)
_MISSING_ROLES: Final = 'Missing required configuration "process.roles" which has no default value.'
_LOG_DIR_DEFAULT: Final = "/tmp/kafka-logs"  # noqa: S108 - Kafka's default of log.dir


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatOptions:
    """How to format, beside the configuration. `release_version`: None: the release's latest production version.

    `features`: texts FEATURE=LEVEL; `scram`: credentials, as --add-scram of kafka-storage takes them. At most one of
    `standalone`, `initial_controllers` and `no_initial_controllers` makes a dynamic quorum.
    """

    cluster_id: str
    ignore_formatted: bool = False
    release_version: str | None = None
    features: tuple[str, ...] = ()
    standalone: bool = False
    initial_controllers: str | None = None
    no_initial_controllers: bool = False
    scram: tuple[str, ...] = ()


def format_request(release: Release, properties: Mapping[str, str], options: FormatOptions) -> FormatRequest:
    """Return what `format_storage` formats. Raises OperationError for a configuration that is wrong or not of KRaft."""
    if not properties.get("process.roles"):
        raise OperationError(_LEGACY if release.has_zookeeper else _MISSING_ROLES)
    node = _node_config(properties, release)
    controllers = [listener.advertised for listener in node.listeners if listener.is_controller]
    return FormatRequest(
        release=node.release,
        cluster_id=options.cluster_id,
        node_id=node.node_id,
        log_dirs=node.log_dirs,
        metadata_log_dir=node.metadata_log_dir,
        is_controller=node.is_controller,
        controller_listener_name=node.controller_listener_names[0],
        controller_endpoint=controllers[0] if controllers else None,
        has_static_voters=node.quorum_voters is not None,
        is_unstable_enabled=node.unstable_feature_versions_enable,
        inter_broker_protocol=node.properties.get("inter.broker.protocol.version"),
        ignore_formatted=options.ignore_formatted,
        release_version=options.release_version,
        features=options.features,
        standalone=options.standalone,
        initial_controllers=options.initial_controllers,
        no_initial_controllers=options.no_initial_controllers,
        scram=options.scram,
    )


def inspect_storage(release: Release, properties: Mapping[str, str], disk: Disk) -> StorageInfo:
    """Inspect the directories that a configuration names. Raises OperationError for a configuration that is wrong."""
    is_kraft = bool(properties.get("process.roles"))
    if is_kraft:
        node = _node_config(properties, release)
        directories: tuple[str, ...] = (*node.log_dirs, node.metadata_log_dir)
    elif release.has_zookeeper:
        directories = _zookeeper_directories(properties)
    else:
        raise OperationError(_MISSING_ROLES)
    return storage_info(disk, directories, is_kraft=is_kraft)


def _node_config(properties: Mapping[str, str], release: Release) -> NodeConfig:
    try:
        # A listener without a host: voters reach it as localhost, as the tools have it.
        return read_server_properties(properties, release, hostname="localhost").config
    except ConfigError as error:
        raise OperationError(str(error)) from error


def _zookeeper_directories(properties: Mapping[str, str]) -> tuple[str, ...]:
    named = properties.get("log.dirs") or properties.get("log.dir") or _LOG_DIR_DEFAULT
    directories: Sequence[str] = [name.strip() for name in named.split(",") if name.strip()]
    metadata = properties.get("metadata.log.dir")
    return (*directories, *([metadata] if metadata else []))
