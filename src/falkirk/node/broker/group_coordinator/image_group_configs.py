"""Dynamic configs of groups, as shards look them up (KIP-848, resource type GROUP)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from falkirk.metadata.image.configs import GROUP

if TYPE_CHECKING:
    from falkirk.metadata.image.configs import ConfigsImage


class ImageGroupConfigs(Mapping[str, Mapping[str, str]]):
    """Configs by group, of one image; groups without any are missing."""

    __slots__ = ("_configs",)

    def __init__(self, configs: ConfigsImage) -> None:
        self._configs = configs

    def __getitem__(self, group_id: str) -> Mapping[str, str]:
        found = self._configs.of(GROUP, group_id)
        if not found:
            raise KeyError(group_id)
        return found

    @property
    def image(self) -> ConfigsImage:
        """The configs image that they are read from."""
        return self._configs

    def __iter__(self) -> Iterator[str]:
        return (key.resource_name for key in self._configs.resources if key.resource_type == GROUP)

    def __len__(self) -> int:
        return sum(1 for _ in self)
