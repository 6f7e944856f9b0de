"""Opens the logs of a broker by its configuration and the image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from falkirk.node.broker.replication.local_changes import directory_of
from falkirk.node.broker.replication.topic_log_configs import TopicLogConfigs
from falkirk.node.config.static_configs import static_value
from falkirk.storage.log.housekeeping_settings import HousekeepingSettings
from falkirk.storage.log.log_manager import LogManager
from falkirk.versions.configs.server import definitions

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from falkirk.node.broker.replication.context import ReplicationContext
    from falkirk.node.config.node_config import NodeConfig
    from falkirk.protocol.topic_partition import TopicPartition
    from falkirk.storage.disk import Disk


def open_logs(
    disk: Disk, context: ReplicationContext, log_dirs: Mapping[str, bytes], clean_log_dirs: Collection[str]
) -> LogManager:
    """Begin to load the logs in these directories (ids by path); `clean_log_dirs`: those that were closed in order.

    Call `LogManager.load_some` until all are loaded. Logs of replicas that the image does not have here become stray.
    """
    configs = TopicLogConfigs(context.config)

    def wanted_directory(partition: TopicPartition, topic_id: bytes) -> bytes | None:
        topic = context.image.topics.topic_by_id(topic_id)
        state = None if topic is None else topic.partition(partition.partition)
        return None if state is None or context.node_id not in state.replicas else directory_of(state, context.node_id)

    return LogManager.begin(
        disk,
        log_dirs,
        clean_log_dirs=clean_log_dirs,
        settings=_settings(context.config),
        config_of=lambda topic: configs.of(context.image.configs, topic),
        wanted_directory=wanted_directory,
        chance=context.random,
        now_ms=context.now_ms,
    )


def _settings(config: NodeConfig) -> HousekeepingSettings:
    known = definitions(config.release)
    # Any: each has its field's type, by the definitions.
    values: dict[str, Any] = {
        field: static_value(config.properties, config.release, key)
        for field in HousekeepingSettings.__dataclass_fields__
        if (key := field.replace("_", ".")) in known
    }
    return HousekeepingSettings(**{field: value for field, value in values.items() if value is not None})
