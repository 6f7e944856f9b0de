"""Limits of accepted connections (max.connections, max.connections.per.ip and its overrides)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.configs.definition import Value

_UNLIMITED = 2**31 - 1


@dataclass(slots=True, kw_only=True)
class ConnectionLimits:
    """Counts accepted connections. `max_by_host` are the overrides."""

    max_connections: int = _UNLIMITED
    max_per_ip: int = _UNLIMITED
    max_by_host: Mapping[str, int] = field(default_factory=dict)
    _by_host: Counter[str] = field(default_factory=Counter)
    _count: int = 0

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> ConnectionLimits:
        """Make them of the values of server.properties."""
        max_connections, max_per_ip = values["max.connections"], values["max.connections.per.ip"]
        assert isinstance(max_connections, int)
        assert isinstance(max_per_ip, int)
        overrides = str(values["max.connections.per.ip.overrides"]).split(",")
        pairs = [entry.rpartition(":") for entry in overrides if entry.strip()]
        by_host = {host.strip(): int(number) for host, _, number in pairs}
        return cls(max_connections=max_connections, max_per_ip=max_per_ip, max_by_host=by_host)

    def admit(self, host: str) -> str | None:
        """Count a connection, or return why it is refused."""
        if self._count >= self.max_connections:
            return f"max.connections is {self.max_connections}"
        allowed = self.max_by_host.get(host, self.max_per_ip)
        if self._by_host[host] >= allowed:
            return f"max.connections.per.ip is {allowed}"
        self._count += 1
        self._by_host[host] += 1
        return None

    def leave(self, host: str) -> None:
        """Uncount an admitted connection."""
        self._count -= 1
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]
