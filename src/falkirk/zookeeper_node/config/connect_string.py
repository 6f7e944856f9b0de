"""zookeeper.connect: `host:port,host:port/chroot`, and paths of znodes."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from falkirk.node.config.listener_properties import split_entries
from falkirk.versions.configs.definition import ConfigError

_DEFAULT_PORT: Final = 2181
_PORT_MAX: Final = 0xFFFF
_SERVER: Final = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[0-9A-Za-z\-._]+)(?::([0-9]{1,5}))?")
# ZooKeeper's own rule: names between slashes, none of them "." or "..".
_ABSOLUTE_PATH: Final = re.compile(r"(/(?!\.{1,2}(?:/|$))[^/\x00-\x1f\x7f-\x9f]+)+")


class ConnectString(NamedTuple):
    """`servers` as host:port, each with its port; `chroot` is "" or a path."""

    servers: tuple[str, ...]
    chroot: str

    def __str__(self) -> str:
        return ",".join(self.servers) + self.chroot


def parse_connect_string(text: str, name: str = "zookeeper.connect") -> ConnectString:
    """Parse the string; servers without a port get ZooKeeper's. Raises ConfigError with `name`."""
    servers, slash, chroot = text.partition("/")
    path = slash + chroot.rstrip("/")
    if path not in {"", "/"} and not is_znode_path(path):
        raise ConfigError(f"{name}: {path} is not the path of a znode")
    entries = split_entries(servers)
    if not entries:
        raise ConfigError(f"{name}: '{text}' names no server")
    return ConnectString(tuple(_server(entry, name) for entry in entries), "" if path == "/" else path)


def is_znode_path(text: str) -> bool:
    """Return whether `text` is a valid path of a znode other than the root."""
    return bool(_ABSOLUTE_PATH.fullmatch(text))


def _server(entry: str, name: str) -> str:
    match = _SERVER.fullmatch(entry)
    if match is None or int(match[2] or 0) > _PORT_MAX:
        raise ConfigError(f"{name}: {entry} is not host:port")
    return f"{match[1]}:{match[2] or _DEFAULT_PORT}"
