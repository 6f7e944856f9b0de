"""Voters and bootstrap servers of the metadata quorum in server.properties (QuorumConfig)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from falkirk.protocol.endpoint import Endpoint
from falkirk.versions.configs.definition import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

VOTERS: Final = "controller.quorum.voters"
BOOTSTRAP_SERVERS: Final = "controller.quorum.bootstrap.servers"
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
# A protocol may precede it, and brackets may enclose an IPv6 address.
_ADDRESS: Final = re.compile(r"(?:.*?//)?\[?([0-9a-zA-Z\-._%:]*)\]?:([0-9]+)")


def parse_voters(entries: Sequence[str]) -> dict[int, Endpoint]:
    """Parse entries `{id}@{host}:{port}`. Raises ConfigError."""
    voters: dict[int, Endpoint] = {}
    form = "Each entry should be in the form `{id}@{host}:{port}`."
    for entry in entries:
        parts = entry.split("@")
        if len(parts) != 2 or not parts[1]:
            raise ConfigError(f"Invalid configuration value for {VOTERS}. {form}")
        if not _INTEGER.fullmatch(parts[0]):
            raise ConfigError(f"Failed to parse voter ID as an integer from {parts[0]}")
        endpoint = _parse_address(parts[1])
        if endpoint is None:
            raise ConfigError(f"Failed to parse host name from entry {entry} for the configuration {VOTERS}. {form}")
        voters[int(parts[0])] = endpoint
    return voters


def parse_bootstrap_servers(entries: Sequence[str]) -> tuple[Endpoint, ...]:
    """Parse entries `{host}:{port}`. Raises ConfigError."""
    servers = []
    for entry in entries:
        endpoint = _parse_address(entry)
        if endpoint is None:
            raise ConfigError(
                f"Failed to parse host name from {entry} for the configuration {BOOTSTRAP_SERVERS}. "
                'Each entry should be in the form "{host}:{port}"'
            )
        servers.append(endpoint)
    return tuple(servers)


def _parse_address(text: str) -> Endpoint | None:
    match = _ADDRESS.fullmatch(text)
    return Endpoint(match[1], int(match[2])) if match else None
