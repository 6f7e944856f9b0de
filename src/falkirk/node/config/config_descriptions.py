"""Configs as DescribeConfigs returns them: values, sources and synonyms."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.dump.java_text import java_double
from falkirk.metadata.controller.configs.config_resolution import (
    CLIENT_METRICS_CONFIG,
    CLUSTER_DEFAULT,
    DEFAULT_CONFIG,
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    GROUP_CONFIG,
    STATIC_BROKER_CONFIG,
    TOPIC_CONFIG,
    ConfigResolution,
)
from falkirk.metadata.controller.configs.group_config_limits import group_default, group_synonym
from falkirk.metadata.image.configs import BROKER, CLIENT_METRICS, GROUP, TOPIC, ConfigsImage
from falkirk.protocol.messages.describe_configs_response import DescribeConfigsResourceResult, DescribeConfigsSynonym
from falkirk.versions.configs.definition import ConfigError, ConfigType, Definition, Value
from falkirk.versions.configs.resources import (
    TOPIC_SYNONYMS,
    client_metrics_definitions,
    describes_client_metrics_defaults,
    group_definitions,
    has_group_synonyms,
    topic_definitions,
)
from falkirk.versions.configs.server import THROTTLES, definitions, dynamic_configs, internal_configs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from falkirk.versions.release import Release

Descriptions = list[DescribeConfigsResourceResult]
# Numbers of DescribeConfigs; 0 is an unknown type.
_TYPE_NUMBERS: Final[Mapping[ConfigType, int]] = {
    ConfigType.BOOLEAN: 1,
    ConfigType.STRING: 2,
    ConfigType.INT: 3,
    ConfigType.SHORT: 4,
    ConfigType.LONG: 5,
    ConfigType.DOUBLE: 6,
    ConfigType.LIST: 7,
    ConfigType.CLASS: 8,
    ConfigType.PASSWORD: 9,
}
# Keys for the same setting in several units: the first that is set wins.
_FAMILIES: Final = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_LISTENER_CONFIG: Final = re.compile(r"listener\.name\.[^.]*\.(.*)")
# Set for each mechanism of a listener.
_MECHANISM_CONFIGS: Final = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)


@dataclass(frozen=True, slots=True)
class ConfigDescriptions:
    """Describes the configs of an image and those of one node; all lists are sorted by name."""

    release: "Release"
    node_id: int
    static_configs: "Mapping[str, str]"
    configs: ConfigsImage

    def of_topic(self, topic: str) -> Descriptions:
        """Describe all configs of a topic, whether it exists or not."""
        overrides = self.configs.of(TOPIC, topic)
        resolution = ConfigResolution(release=self.release, node_id=self.node_id, static_configs=self.static_configs)
        described: Descriptions = []
        for name, definition in topic_definitions(self.release).items():
            if definition.is_internal and name not in overrides:
                continue
            value = _text(definition, resolution.topic_value(self.configs, overrides, name))
            synonyms = [_synonym(name, value, TOPIC_CONFIG)] if name in overrides else []
            if name in TOPIC_SYNONYMS:
                synonyms += self._broker_synonyms(TOPIC_SYNONYMS[name][0].name)
            described.append(_described(name, value, synonyms, definition.type))
        return described

    def of_group(self, group: str) -> Descriptions:
        """Describe all configs of a group, whether it exists or not."""
        overrides = self.configs.of(GROUP, group)
        broker_configs = self._broker_configs()
        described: Descriptions = []
        for name, definition in group_definitions(self.release).items():
            if definition.is_internal and name not in overrides:
                continue
            parsed = (
                _parsed(name, overrides[name], definition)
                if name in overrides
                else group_default(name, broker_configs, self.release)
            )
            value = _text(definition, parsed)
            behind = group_synonym(name) if has_group_synonyms(self.release) else None
            synonyms = [_synonym(name, value, GROUP_CONFIG)] if name in overrides else []
            if behind is not None:
                synonyms += self._broker_synonyms(behind)
            elif not synonyms:
                synonyms = [_synonym(name, value, DEFAULT_CONFIG)]
            described.append(_described(name, value, synonyms, definition.type))
        return described

    def of_client_metrics(self, subscription: str) -> Descriptions:
        """Describe the configs of a client metrics subscription, whether it exists or not."""
        overrides = self.configs.of(CLIENT_METRICS, subscription)
        if not describes_client_metrics_defaults(self.release):
            return [
                DescribeConfigsResourceResult(name, value, config_source=CLIENT_METRICS_CONFIG)
                for name, value in sorted(overrides.items())
            ]
        described: Descriptions = []
        for name, definition in client_metrics_definitions(self.release).items():
            value = overrides.get(name, definition.default_text)
            synonyms = [_synonym(name, value, CLIENT_METRICS_CONFIG)] if name in overrides else []
            described.append(_described(name, value, synonyms, definition.type))
        return described

    def of_all_brokers(self) -> Descriptions:
        """Describe the dynamic default configs of all brokers."""
        described: Descriptions = []
        for name, value in sorted(self.configs.of(BROKER, CLUSTER_DEFAULT).items()):
            definition = self._definition(name)
            shown = None if _is_sensitive(definition) else value
            synonyms = [_synonym(name, shown, DYNAMIC_DEFAULT_BROKER_CONFIG)]
            described.append(self._described_of_broker(name, shown, synonyms, definition))
        return described

    def of_this_node(self) -> Descriptions:
        """Describe all configs of the node itself: known ones, and what else is set, by server.properties or later."""
        static = self._static()
        dynamic = {*self.configs.of(BROKER, str(self.node_id)), *self.configs.of(BROKER, CLUSTER_DEFAULT)}
        known = definitions(self.release)
        internal = internal_configs(self.release)
        described: Descriptions = []
        for name in sorted({*static, *(dynamic - known.keys()), *(key for key in known if key not in internal)}):
            definition = self._definition(name)
            synonyms = self._broker_synonyms(name)
            value = None if definition is None else self._node_value(name, definition, static)
            described.append(self._described_of_broker(name, value, synonyms, definition))
        return described

    def _broker_configs(self) -> dict[str, str]:
        """Return server.properties with the dynamic configs over it whose values parse."""
        configs, known = dict(self.static_configs), definitions(self.release)
        for layer in (self.configs.of(BROKER, CLUSTER_DEFAULT), self.configs.of(BROKER, str(self.node_id))):
            for name, text in layer.items():
                if name in known and name in dynamic_configs(self.release):
                    with suppress(ConfigError):
                        known[name].parse(name, text)
                        configs[name] = text
        return configs

    def _node_value(self, name: str, definition: Definition, static: Mapping[str, str]) -> str | None:
        if _is_sensitive(definition):
            return None
        sources: Sequence[Mapping[str, str]] = (static,)
        if name in dynamic_configs(self.release) or name not in definitions(self.release):
            sources = (
                self.configs.of(BROKER, str(self.node_id)),
                self.configs.of(BROKER, CLUSTER_DEFAULT),
                static,
            )
        text = next((values[name] for values in sources if name in values), None)
        if text is None:
            return _default_text(definition)
        return _text(definition, _parsed(name, text, definition))

    def _static(self) -> Mapping[str, str]:
        """Return server.properties, with node.id and broker.id filled in from each other."""
        static = dict(self.static_configs)
        for name, other in (("broker.id", "node.id"), ("node.id", "broker.id")):
            if name not in static and other in static and name in definitions(self.release):
                static[name] = static[other]
        return static

    def _definition(self, name: str) -> Definition | None:
        known = definitions(self.release)
        if name in known or name in THROTTLES:
            return known.get(name) or THROTTLES[name]
        base = _base_name(name)
        return None if base is None else known.get(base)

    def _broker_synonyms(self, name: str) -> list[DescribeConfigsSynonym]:
        """Return the values that a broker's config could have, the effective one first; none if none has its own name.

        As in Kafka, those before the first one of the config's own name are left out.
        """
        synonyms = list(self._all_broker_synonyms(name))
        own = next((index for index, synonym in enumerate(synonyms) if synonym.name == name), len(synonyms))
        return synonyms[own:]

    def _all_broker_synonyms(self, name: str) -> Iterator[DescribeConfigsSynonym]:
        names = _names_behind(name)
        is_sensitive = _is_sensitive(self._definition(name))
        known = definitions(self.release)
        defaults = {
            synonym: text
            for synonym in names
            if synonym in known and (text := _default_text(known[synonym])) is not None
        }
        sources: Sequence[tuple[Mapping[str, str], int]] = (
            (self.configs.of(BROKER, str(self.node_id)), DYNAMIC_BROKER_CONFIG),
            (self.configs.of(BROKER, CLUSTER_DEFAULT), DYNAMIC_DEFAULT_BROKER_CONFIG),
            (self._static(), STATIC_BROKER_CONFIG),
            (defaults, DEFAULT_CONFIG),
        )
        for values, source in sources:
            for synonym in names:
                if synonym in values:
                    yield _synonym(synonym, None if is_sensitive else values[synonym], source)

    def _described_of_broker(
        self,
        name: str,
        value: str | None,
        synonyms: list[DescribeConfigsSynonym],
        definition: Definition | None,
    ) -> DescribeConfigsResourceResult:
        described = _described(name, value, synonyms, None if definition is None else definition.type)
        described.read_only = name not in dynamic_configs(self.release)
        return described


def _names_behind(name: str) -> tuple[str, ...]:
    for family in _FAMILIES:
        if name in family:
            return family
    if name == "log.flush.interval.ms":
        return name, "log.flush.scheduler.interval.ms"
    base = _base_name(name)
    return (name,) if base is None else (name, base)


def _base_name(name: str) -> str | None:
    """Return the key that `name` overrides for a listener; None if the name is not of that form."""
    match = _LISTENER_CONFIG.fullmatch(name)
    if match is None:
        return None
    return next((config for config in _MECHANISM_CONFIGS if match[1].endswith(config)), match[1])


def _is_sensitive(definition: Definition | None) -> bool:
    return definition is None or definition.type is ConfigType.PASSWORD


def _parsed(name: str, text: str, definition: Definition) -> Value:
    """Parse a value; text that cannot be parsed, as dynamic configs of brokers may be, is returned as it is."""
    try:
        return definition.parse(name, text)
    except ConfigError:
        return text


def _text(definition: Definition, value: Value) -> str | None:
    if isinstance(value, float) or (definition.type is ConfigType.DOUBLE and isinstance(value, int)):
        return java_double(value)
    return definition.text(value)


def _default_text(definition: Definition) -> str | None:
    if isinstance(definition.default, float) or definition.type is ConfigType.DOUBLE:
        assert isinstance(definition.default, int | float)
        return java_double(definition.default)
    return definition.default_text


def _synonym(name: str, value: str | None, source: int) -> DescribeConfigsSynonym:
    return DescribeConfigsSynonym(name, value, source)


def _described(
    name: str, value: str | None, synonyms: list[DescribeConfigsSynonym], kind: ConfigType | None
) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name,
        value,
        config_source=synonyms[0].source if synonyms else DEFAULT_CONFIG,
        is_sensitive=kind is None or kind is ConfigType.PASSWORD,
        synonyms=synonyms,
        config_type=0 if kind is None else _TYPE_NUMBERS[kind],
        documentation=None,
    )
