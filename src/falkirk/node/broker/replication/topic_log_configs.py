"""Log configs of topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.controller.configs.config_resolution import ConfigResolution
from falkirk.metadata.image.configs import BROKER, TOPIC, ConfigResource
from falkirk.storage.log.log_config import LogConfig
from falkirk.versions.configs.resources import topic_definitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.image.configs import ConfigsDelta, ConfigsImage
    from falkirk.node.config.node_config import NodeConfig


class TopicLogConfigs:
    """Resolves configs; all topics without overrides share one object."""

    def __init__(self, config: NodeConfig) -> None:
        self._resolution = ConfigResolution(
            release=config.release, node_id=config.node_id, static_configs=config.properties
        )
        self._brokers = (ConfigResource(BROKER, str(config.node_id)), ConfigResource(BROKER, ""))
        self._names = tuple(topic_definitions(config.release))
        self._inherited: LogConfig | None = None
        self._inherited_of: tuple[Mapping[str, str], ...] = ()

    def of(self, configs: ConfigsImage, topic: str) -> LogConfig:
        """Return the effective configs of a topic."""
        overrides = configs.of(TOPIC, topic)
        if overrides:
            return self._make(configs, overrides)
        behind = (configs.of(BROKER, str(self._resolution.node_id)), configs.of(BROKER, ""))
        if self._inherited is None or self._inherited_of != behind:
            self._inherited, self._inherited_of = self._make(configs, {}), behind
        return self._inherited

    def affects(self, delta: ConfigsDelta) -> bool:
        """Return whether a change may affect any topic's configs."""
        return any(resource.resource_type == TOPIC or resource in self._brokers for resource in delta.resources.changes)

    def changed(self, delta: ConfigsDelta) -> list[str] | None:
        """Return the topics whose configs a change may affect; None: all."""
        changes = delta.resources.changes
        if any(resource in changes for resource in self._brokers):
            return None
        return [resource.resource_name for resource in changes if resource.resource_type == TOPIC]

    def _make(self, configs: ConfigsImage, overrides: Mapping[str, str]) -> LogConfig:
        values = {name: self._resolution.topic_value(configs, overrides, name) for name in self._names}
        return LogConfig.of(values)
