"""The configs of topics as their logs take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.controller.config_definitions import topic_definitions
from falkirk.metadata.controller.config_resolution import ConfigResolution
from falkirk.metadata.image.configs import BROKER, TOPIC, ConfigResource
from falkirk.storage.log.log_config import LogConfig

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.metadata.image.configs import ConfigsDelta, ConfigsImage
    from falkirk.node.config import NodeConfig


class TopicLogConfigs:
    """Configs are made once for all topics that have none of their own."""

    def __init__(self, config: NodeConfig) -> None:
        self._resolution = ConfigResolution(
            release=config.release, node_id=config.node_id, static_configs=config.properties
        )
        self._names = tuple(topic_definitions(config.release))
        self._inherited: LogConfig | None = None
        self._inherited_of: tuple[Mapping[str, str], ...] = ()

    def of(self, configs: ConfigsImage, topic: str) -> LogConfig:
        """Give what counts for a topic."""
        overrides = configs.of(TOPIC, topic)
        if overrides:
            return self._make(configs, overrides)
        behind = (configs.of(BROKER, str(self._resolution.node_id)), configs.of(BROKER, ""))
        if self._inherited is None or self._inherited_of != behind:
            self._inherited, self._inherited_of = self._make(configs, {}), behind
        return self._inherited

    def changed(self, delta: ConfigsDelta, after: ConfigsImage, topics: Iterable[str]) -> list[str]:
        """Give which of `topics` may have other configs after a change."""
        before = delta.image
        brokers = (ConfigResource(BROKER, str(self._resolution.node_id)), ConfigResource(BROKER, ""))
        if any(before.resources.get(one) != after.resources.get(one) for one in brokers):
            return list(topics)
        changed = []
        for topic in topics:
            resource = ConfigResource(TOPIC, topic)
            if before.resources.get(resource) != after.resources.get(resource):
                changed.append(topic)
        return changed

    def _make(self, configs: ConfigsImage, overrides: Mapping[str, str]) -> LogConfig:
        values = {name: self._resolution.topic_value(configs, overrides, name) for name in self._names}
        return LogConfig.of(values)
