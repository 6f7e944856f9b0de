"""Listeners in server.properties: names, addresses, security protocols, advertised addresses.

Rules and texts are those of KafkaConfig and SocketServerConfigs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.protocol.endpoint import Endpoint
from falkirk.versions.configs.definition import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falkirk.versions.configs.definition import Value

PLAINTEXT: Final = "PLAINTEXT"
SECURITY_PROTOCOLS: Final = (PLAINTEXT, "SSL", "SASL_PLAINTEXT", "SASL_SSL")
# As in Kafka: a name, a host with or without brackets, a port.
_ADDRESS: Final = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]{1,10})")


class ListenerAddress(NamedTuple):
    """One entry of `listeners` or `advertised.listeners`; host "" means all addresses of this machine."""

    name: str
    security_protocol: str
    endpoint: Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerProperties:
    """All listener keys of server.properties. `advertised` may include listeners of controllers."""

    listeners: tuple[ListenerAddress, ...]
    advertised: tuple[ListenerAddress, ...]
    controller_listener_names: tuple[str, ...]
    security_protocols: "Mapping[str, str]"

    @property
    def controller_listeners(self) -> tuple[ListenerAddress, ...]:
        """The listeners of the controller role."""
        return tuple(one for one in self.listeners if one.name in self.controller_listener_names)

    @property
    def advertised_broker_listeners(self) -> tuple[ListenerAddress, ...]:
        """The advertised addresses of the broker role."""
        return tuple(one for one in self.advertised if one.name not in self.controller_listener_names)

    @property
    def advertised_controller_listeners(self) -> tuple[ListenerAddress, ...]:
        """The advertised addresses of the controller role; by default those that it listens on."""
        named = {one.name: one for one in reversed(self.controller_listeners)}
        named |= {one.name: one for one in reversed(self.advertised)}
        names = (name.upper() for name in self.controller_listener_names)
        return tuple(named[name] for name in names if name in named)


def read_listeners(values: Mapping[str, Value], *, is_map_set: bool) -> ListenerProperties:
    """Read the parsed values; `is_map_set`: listener.security.protocol.map is in the file. Raises ConfigError."""
    names = split_entries(values["controller.listener.names"])
    protocols = _security_protocols(values, names, is_map_set=is_map_set)
    listeners = _addresses(values["listeners"], protocols)
    _check_ports(listeners, _shown(values["listeners"]))
    advertised = values["advertised.listeners"]
    return ListenerProperties(
        listeners=listeners,
        advertised=listeners if advertised is None else _addresses(advertised, protocols),
        controller_listener_names=names,
        security_protocols=protocols,
    )


def split_entries(value: Value) -> tuple[str, ...]:
    """Return the entries of a value that is a string in older releases and a list in newer ones."""
    texts = value.split(",") if isinstance(value, str) else value or ()
    assert isinstance(texts, list | tuple)
    return tuple(text.strip() for text in texts if text.strip())


def _shown(value: Value) -> str:
    return f"[{', '.join(value)}]" if isinstance(value, tuple) else str(value)


def _security_protocols(
    values: Mapping[str, Value], controller_listener_names: Sequence[str], *, is_map_set: bool
) -> dict[str, str]:
    key = "listener.security.protocol.map"
    protocols: dict[str, str] = {}
    for entry in split_entries(values[key]):
        name, colon, protocol = entry.rpartition(":")
        if not colon:
            raise ConfigError(f"Error parsing configuration property '{key}': {entry} is not of the form name:protocol")
        if protocol.strip().upper() not in SECURITY_PROTOCOLS:
            raise ConfigError(f"Invalid security protocol `{protocol.strip()}` defined in {key}")
        protocols[name.strip().upper()] = protocol.strip().upper()
    names = {entry.partition(":")[0].upper() for entry in split_entries(values["listeners"])}
    if not is_map_set and not {*controller_listener_names, *names} & set(SECURITY_PROTOCOLS[1:]):
        protocols |= {name: PLAINTEXT for name in controller_listener_names if name != PLAINTEXT}
    return protocols


def _addresses(value: Value, protocols: Mapping[str, str]) -> tuple[ListenerAddress, ...]:
    failed = f"Error creating broker listeners from '{_shown(value)}'"
    addresses = []
    for entry in split_entries(value):
        if ":" not in entry:
            raise ConfigError(f"Unable to parse a listener name from {entry}")
        match = _ADDRESS.fullmatch(entry)
        if match is None:
            raise ConfigError(f"{failed}: Unable to parse {entry} to a broker endpoint")
        name = match[1].upper()
        if name not in protocols:
            raise ConfigError(f"{failed}: No security protocol defined for listener {name}")
        addresses.append(ListenerAddress(name, protocols[name], Endpoint(match[2], int(match[3]))))
    if len({address.name for address in addresses}) < len(addresses):
        raise ConfigError(f"Each listener must have a different name, listeners: {_shown(value)}")
    return tuple(addresses)


def _check_ports(addresses: Sequence[ListenerAddress], shown: str) -> None:
    by_port: dict[int, list[str]] = {}
    for address in addresses:
        if address.endpoint.port != 0:  # 0: any free port
            by_port.setdefault(address.endpoint.port, []).append(address.endpoint.host)
    for port, hosts in by_port.items():
        families = [_ip_version(host) for host in hosts]
        if families.count(None) > 1:
            raise ConfigError(f"Each listener must have a different port, listeners: {shown}")
        if len(hosts) == 1 or sorted(map(str, families)) == ["4", "6"]:
            continue
        if len(hosts) - families.count(None) > 2:
            raise ConfigError(
                "Each listener must have a different port unless exactly one listener has an IPv4 address and the "
                f"other IPv6 address, listeners: {shown}, port: {port}"
            )
        if families.count(None) < len(hosts) - 1:
            raise ConfigError(
                "If you have two listeners on the same port then one needs to be IPv4 and the other IPv6, "
                f"listeners: {shown}, port: {port}"
            )


def _ip_version(host: str) -> int | None:
    try:
        return ip_address(host).version
    except ValueError:
        return None
