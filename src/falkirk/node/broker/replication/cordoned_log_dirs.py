"""Cordoned log directories, which get no new replicas (KIP-1066)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.image.configs import BROKER
from falkirk.versions.configs.server import definitions

if TYPE_CHECKING:
    from collections.abc import Collection

    from falkirk.metadata.image.configs import ConfigsImage
    from falkirk.node.config.node_config import NodeConfig

KEY: Final = "cordoned.log.dirs"
ALL: Final = "*"


def cordoned_log_dirs(config: NodeConfig, configs: ConfigsImage) -> Collection[str]:
    """Return the paths of cordoned.log.dirs, whose dynamic value wins over the static one.

    Releases before 4.3 do not know it.
    """
    if KEY not in definitions(config.release):
        return ()
    text = configs.of(BROKER, str(config.node_id)).get(KEY, config.properties.get(KEY, ""))
    named = {name.strip() for name in text.split(",") if name.strip()}
    return frozenset(config.log_dirs if ALL in named else map(config.log_dir_path, named))
