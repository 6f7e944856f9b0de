"""Effective topic configs: the topic's own value, a dynamic one of node or cluster, a static one, the default."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from falkirk.metadata.image.configs import BROKER
from falkirk.versions.configs.definition import ConfigError, ConfigType, Required, Value
from falkirk.versions.configs.resources import TOPIC_SYNONYMS, topic_definitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.image.configs import ConfigsImage
    from falkirk.versions.configs.definition import Definition
    from falkirk.versions.release import Release

# Where a value comes from, by the numbers of DescribeConfigs.
TOPIC_CONFIG: Final = 1
DYNAMIC_BROKER_CONFIG: Final = 2
DYNAMIC_DEFAULT_BROKER_CONFIG: Final = 3
STATIC_BROKER_CONFIG: Final = 4
DEFAULT_CONFIG: Final = 5
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


@dataclass(slots=True, kw_only=True)
class ConfigResolution:
    """The configs that stand behind those of the topics, as one node sees them."""

    release: "Release"
    node_id: int
    static_configs: "Mapping[str, str]"
    # What topics without configs of their own have, and the configs of node and cluster that it was made of.
    _inherited: dict[str, EffectiveConfig] = field(default_factory=dict, init=False)
    _inherited_of: "tuple[Mapping[str, str], ...]" = field(default=(), init=False)

    def topic_config(self, configs: ConfigsImage, overrides: Mapping[str, str], name: str) -> EffectiveConfig | None:
        """Return the effective value; None if the release does not know the config. `overrides`: the topic's own."""
        inherited = self._behind_topics(configs).get(name)
        return _overridden(inherited, overrides[name]) if inherited is not None and name in overrides else inherited

    def topic_configs(self, configs: ConfigsImage, overrides: Mapping[str, str]) -> list[EffectiveConfig]:
        """Return the effective values of all configs that the release knows."""
        behind = self._behind_topics(configs)
        if not overrides:
            return list(behind.values())
        return [
            _overridden(inherited, overrides[name]) if name in overrides else inherited
            for name, inherited in behind.items()
        ]

    def topic_value(self, configs: ConfigsImage, overrides: Mapping[str, str], name: str) -> Value:
        """Return the effective value, parsed; Kafka's default in place of one that does not parse.

        Only brokers themselves check their dynamic configs, so these may hold anything.
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

    def _behind_topics(self, configs: ConfigsImage) -> Mapping[str, EffectiveConfig]:
        """Return the effective configs of a topic without overrides, cached until those of node or cluster change."""
        dynamic = (configs.of(BROKER, str(self.node_id)), configs.of(BROKER, CLUSTER_DEFAULT))
        if dynamic != self._inherited_of:
            sources = (DYNAMIC_BROKER_CONFIG, DYNAMIC_DEFAULT_BROKER_CONFIG, STATIC_BROKER_CONFIG)
            behind = tuple(zip((*dynamic, self.static_configs), sources, strict=True))
            definitions = topic_definitions(self.release)
            self._inherited = {name: _inherited(name, definition, behind) for name, definition in definitions.items()}
            self._inherited_of = dynamic
        return self._inherited


def _inherited(name: str, definition: Definition, behind: tuple[tuple[Mapping[str, str], int], ...]) -> EffectiveConfig:
    is_sensitive = definition.type is ConfigType.PASSWORD
    synonyms = TOPIC_SYNONYMS.get(name, ())
    for values, source in behind:
        for synonym in synonyms:
            if synonym.name in values:
                value = synonym.convert(values[synonym.name])
                return EffectiveConfig(name=name, value=value, source=source, is_sensitive=is_sensitive)
    return EffectiveConfig(name=name, value=definition.default_text, source=DEFAULT_CONFIG, is_sensitive=is_sensitive)


def _overridden(inherited: EffectiveConfig, value: str) -> EffectiveConfig:
    return replace(inherited, value=value, source=TOPIC_CONFIG)
