"""What value a topic config has in the end: the topic's own, a dynamic one of the node or the cluster, a static one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.config_definitions import TOPIC_SYNONYMS, topic_definitions
from falkirk.metadata.image.configs import BROKER
from falkirk.versions.config_definition import ConfigError, ConfigType, Required, Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.image.configs import ConfigsImage
    from falkirk.versions.release import Release

# Where a value comes from, by the numbers of DescribeConfigs.
TOPIC_CONFIG: Final = 1
DYNAMIC_BROKER_CONFIG: Final = 2
DYNAMIC_DEFAULT_BROKER_CONFIG: Final = 3
STATIC_BROKER_CONFIG: Final = 4
DEFAULT_CONFIG: Final = 5
DYNAMIC_BROKER_LOGGER_CONFIG: Final = 6
CLIENT_METRICS_CONFIG: Final = 7
GROUP_CONFIG: Final = 8

# Name of the resource whose configs are the default of all brokers.
CLUSTER_DEFAULT: Final = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveConfig:
    """A config's value as text, and where it comes from: one of the numbers above."""

    name: str
    value: str | None
    source: int
    read_only: bool = False
    is_sensitive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigResolution:
    """The configs that stand behind those of the topics, as one node sees them."""

    release: Release
    node_id: int
    static_configs: Mapping[str, str]

    def topic_config(self, configs: ConfigsImage, overrides: Mapping[str, str], name: str) -> EffectiveConfig | None:
        """Give the value that counts; None if the release knows no such config. `overrides`: the topic's own."""
        definition = topic_definitions(self.release).get(name)
        if definition is None:
            return None
        is_sensitive = definition.type is ConfigType.PASSWORD
        if name in overrides:
            return EffectiveConfig(name=name, value=overrides[name], source=TOPIC_CONFIG, is_sensitive=is_sensitive)
        behind: tuple[tuple[Mapping[str, str], int], ...] = (
            (configs.of(BROKER, str(self.node_id)), DYNAMIC_BROKER_CONFIG),
            (configs.of(BROKER, CLUSTER_DEFAULT), DYNAMIC_DEFAULT_BROKER_CONFIG),
            (self.static_configs, STATIC_BROKER_CONFIG),
        )
        synonyms = TOPIC_SYNONYMS.get(name, ())
        for values, source in behind:
            for synonym in synonyms:
                if synonym.name in values:
                    value = synonym.convert(values[synonym.name])
                    return EffectiveConfig(name=name, value=value, source=source, is_sensitive=is_sensitive)
        return EffectiveConfig(
            name=name, value=definition.default_text, source=DEFAULT_CONFIG, is_sensitive=is_sensitive
        )

    def topic_value(self, configs: ConfigsImage, overrides: Mapping[str, str], name: str) -> Value:
        """Give the parsed value that counts; Kafka's default in the place of one that cannot be read.

        Nobody checks the dynamic configs of brokers but the brokers themselves, so there may be anything in them.
        """
        effective = self.topic_config(configs, overrides, name)
        assert effective is not None, f"no release at hand knows {name}"
        definition = topic_definitions(self.release)[name]
        if effective.value is not None:
            try:
                return definition.parse(name, effective.value)
            except ConfigError:
                pass
        return None if isinstance(definition.default, Required) else definition.default
