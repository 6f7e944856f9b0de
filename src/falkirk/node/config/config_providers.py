"""config.providers: values of server.properties that stand elsewhere, as `${provider:[path:]key}`. Source: KIP-297.

Pure: says which variables there are, and replaces them; a driver reads them (`server.config_values`). As in Kafka, what
is replaced is not searched for variables again, and a variable of no configured provider stays as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from falkirk.versions.configs.definition import PATTERN_ERRORS, ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

CONFIG_PROVIDERS: Final = "config.providers"
_PREFIX: Final = "config.providers."
_PACKAGE: Final = "org.apache.kafka.common.config.provider."
# As ConfigTransformer has it since KAFKA-8363.
_VARIABLE: Final = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")


class ProviderKind(Enum):
    """The providers that Kafka has; the values are their classes."""

    ENVIRONMENT = _PACKAGE + "EnvVarConfigProvider"
    FILE = _PACKAGE + "FileConfigProvider"
    DIRECTORY = _PACKAGE + "DirectoryConfigProvider"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigProvider:
    """A configured provider.

    `allowlist_pattern`: names of environment variables in which it is found may be read. `allowed_paths`: files and
    directories below these may be read, None: all (KIP-993).
    """

    name: str
    kind: ProviderKind
    allowlist_pattern: re.Pattern[str] | None = None
    allowed_paths: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigVariable:
    """A variable in the value of `config`; `path` is empty where it has none. `str` is how it is written there."""

    config: str
    provider: ConfigProvider
    path: str
    key: str

    def __str__(self) -> str:
        path = f"{self.path}:" if self.path else ""
        return f"${{{self.provider.name}:{path}{self.key}}}"


def read_providers(properties: Mapping[str, str]) -> dict[str, ConfigProvider]:
    """Return the configured providers by name. Raises ConfigError for one that falkirk does not have."""
    names = [name.strip() for name in properties.get(CONFIG_PROVIDERS, "").split(",")]
    return {name: _provider(name, properties) for name in names if name}


def config_variables(
    properties: Mapping[str, str], providers: Mapping[str, ConfigProvider]
) -> Iterator[ConfigVariable]:
    """Yield the variables of configured providers, in the order of the properties.

    Raises ConfigError for a variable of the environment with a path, or that the allowlist does not have.
    """
    for config, value in properties.items():
        if config.startswith(CONFIG_PROVIDERS):
            continue
        for match in _VARIABLE.finditer(value):
            provider = providers.get(match[1])
            if provider is not None:
                variable = ConfigVariable(config=config, provider=provider, path=match[2] or "", key=match[3])
                _check(variable)
                yield variable


def with_values(
    properties: Mapping[str, str],
    providers: Mapping[str, ConfigProvider],
    value_of: Callable[[ConfigVariable], str],
) -> dict[str, str]:
    """Return the properties with the values of their variables, without the blanks around them, as Kafka parses them.

    Raises ConfigError as `config_variables`, and what `value_of` raises.
    """
    values = {
        (variable.config, str(variable)): value_of(variable) for variable in config_variables(properties, providers)
    }
    replaced = dict(properties)
    for config in dict.fromkeys(config for config, _ in values):

        def value(match: re.Match[str], config: str = config) -> str:
            return values.get((config, _written(match)), match[0])

        replaced[config] = _VARIABLE.sub(value, properties[config]).strip()
    return replaced


def _provider(name: str, properties: Mapping[str, str]) -> ConfigProvider:
    key = f"{_PREFIX}{name}.class"
    if key not in properties:
        raise ConfigError(f"{CONFIG_PROVIDERS}: {key} is not set")
    class_name = properties[key].strip()
    try:
        kind = ProviderKind(class_name)
    except ValueError as error:
        known = ", ".join(each.value.removeprefix(_PACKAGE) for each in ProviderKind)
        raise ConfigError(f"{key}: falkirk has no {class_name}, only {known}") from error
    parameters = f"{_PREFIX}{name}.param."
    paths = properties.get(f"{parameters}allowed.paths")
    return ConfigProvider(
        name=name,
        kind=kind,
        allowlist_pattern=_pattern(f"{parameters}allowlist.pattern", properties),
        allowed_paths=None if not paths else tuple(path.strip() for path in paths.split(",") if path.strip()),
    )


def _pattern(key: str, properties: Mapping[str, str]) -> re.Pattern[str] | None:
    if key not in properties:
        return None
    try:
        return re.compile(properties[key])
    except PATTERN_ERRORS as error:
        raise ConfigError(f"{key}: the pattern {properties[key]} cannot be read: {error}") from error


def _check(variable: ConfigVariable) -> None:
    provider = variable.provider
    if provider.kind is not ProviderKind.ENVIRONMENT:
        if not variable.path:
            raise ConfigError(f"{variable.config}: {variable} names no path")
        return
    if variable.path:
        raise ConfigError(
            f"{variable.config}: Path is not supported for EnvVarConfigProvider, invalid value '{variable.path}'"
        )
    if provider.allowlist_pattern is not None and provider.allowlist_pattern.search(variable.key) is None:
        raise ConfigError(f"{variable.config}: allowlist.pattern of {provider.name} does not allow {variable.key}")


def _written(match: re.Match[str]) -> str:
    return f"${{{match[1]}:{match[2]}:{match[3]}}}" if match[2] else f"${{{match[1]}:{match[3]}}}"
