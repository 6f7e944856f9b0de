"""Values of broker configs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.versions.configs.definition import Required
from falkirk.versions.configs.server import definitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.configs.definition import Value
    from falkirk.versions.release import Release


def static_value(static_configs: Mapping[str, str], release: Release, name: str) -> Value:
    """Return the value of a key of the release in server.properties, which was checked, or its default."""
    definition = definitions(release)[name]
    text = static_configs.get(name)
    if text is not None:
        return definition.parse(name, text)
    assert not isinstance(definition.default, Required), f"{name} must be set"
    return definition.default
