"""Log directories that are to get no new replicas (KIP-1066)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.image.configs import BROKER
from falkirk.node.config_definitions import definitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.image.configs import ConfigsImage
    from falkirk.node.config import NodeConfig

KEY: Final = "cordoned.log.dirs"
ALL: Final = "*"


def cordoned_directory_ids(
    config: NodeConfig, configs: ConfigsImage, directories: Mapping[str, bytes]
) -> tuple[bytes, ...]:
    """Give the ids of those that cordoned.log.dirs names now, the broker's dynamic value before the static one.

    `directories`: ids by path. Releases before 4.3 know no such thing.
    """
    if KEY not in definitions(config.release):
        return ()
    text = configs.of(BROKER, str(config.node_id)).get(KEY, config.properties.get(KEY, ""))
    named = {name.strip() for name in text.split(",")}
    return tuple(directory_id for path, directory_id in directories.items() if ALL in named or path in named)
