"""The values of a broker's configs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.node.config_definitions import definitions
from falkirk.versions.config_definition import Required

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.config_definition import Value
    from falkirk.versions.release import Release


def static_value(static_configs: Mapping[str, str], release: Release, name: str) -> Value:
    """Give what server.properties, which was checked, says of a key that the release knows, or the default."""
    definition = definitions(release)[name]
    text = static_configs.get(name)
    if text is not None:
        return definition.parse(name, text)
    assert not isinstance(definition.default, Required), f"{name} must be set"
    return definition.default
