"""A node's properties file, with the values that its config.providers have in the environment and in other files."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from falkirk.node.config.config_providers import ProviderKind, read_providers, with_values
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.properties_file import parse_properties
from falkirk.versions.configs.definition import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.node.config.config_providers import ConfigVariable


def read_node_properties(file: Path, overrides: Mapping[str, str] | None = None) -> dict[str, str]:
    """Read a server.properties with `overrides`, and the values of its variables.

    Raises OSError and CorruptFileError for the file itself, ConfigError naming the key whose variable has no value.
    """
    return resolved_properties(parse_properties(file.read_bytes(), file=str(file)).as_dict() | dict(overrides or {}))


def resolved_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties with the values of their variables. Raises ConfigError as `read_node_properties`."""
    return with_values(properties, read_providers(properties), _value)


def _value(variable: ConfigVariable) -> str:
    found = _found(variable)
    if found is None:
        # Kafka would go on with the variable itself as the value.
        raise ConfigError(f"{variable.config}: {variable} has no value")
    return found


def _found(variable: ConfigVariable) -> str | None:
    if variable.provider.kind is ProviderKind.ENVIRONMENT:
        return os.environ.get(variable.key)
    _check_allowed(variable)
    path = Path(variable.path)
    try:
        if variable.provider.kind is ProviderKind.FILE:
            return parse_properties(path.read_bytes(), file=str(path), encoding="utf-8").get(variable.key)
        file = path / variable.key
        is_inside = PurePosixPath(variable.key).name == variable.key
        return file.read_text("utf-8") if is_inside and file.is_file() else None
    except (OSError, UnicodeDecodeError, CorruptFileError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"{variable.config}: {variable}: {path}: {reason}") from error


def _check_allowed(variable: ConfigVariable) -> None:
    """Raise ConfigError unless one of the provider's allowed.paths contains the path, without `..` (KIP-993)."""
    allowed = variable.provider.allowed_paths
    if allowed is None:
        return
    for path in allowed:
        if not path.startswith("/") or not Path(path).exists():
            what = "does not exist" if path.startswith("/") else "is not absolute"
            raise ConfigError(f"allowed.paths of {variable.provider.name}: Path {path} {what}")
    wanted = PurePosixPath(os.path.normpath(variable.path))
    if not any(wanted.is_relative_to(os.path.normpath(path)) for path in allowed):
        raise ConfigError(f"{variable.config}: allowed.paths of {variable.provider.name} does not contain {wanted}")
