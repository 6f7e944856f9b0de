"""The znode of a broker's registration: `/brokers/ids/<id>` (ephemeral).

Version 1 has host and port alone, 2 adds endpoints, 3 the rack, 4 the security protocols of listeners that are not
named after them, 5 the features that the broker supports (KIP-584). Host and port stay there for old clients.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.metadata.zookeeper.znode_json import (
    INT16_MAX,
    TEXT_BYTES_MAX,
    read_object,
    read_version,
    shown,
    write_json,
)
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.zookeeper.finalized_features import Supported
    from falkirk.metadata.zookeeper.znode_json import ZnodeObject

BROKER_IDS_PATH: Final = "/brokers/ids"

_VERSIONS: Final = range(1, 6)
_WITH_FEATURES: Final = 5
_WITHOUT_FEATURES: Final = 4
_LOWEST_LEVEL: Final = 1
_SECURITY_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_DEFAULT_LISTENERS: Final = {name: name for name in _SECURITY_PROTOCOLS}
_PORT_MAX: Final = 0xFFFF
# No JMX is served.
_NO_PORT: Final = -1
_HOST = re.compile(r"[0-9A-Za-z\-%._:]*")
_ENDPOINT = re.compile(rf"(?P<listener>[^:/]+)://\[?(?P<host>{_HOST.pattern})\]?:(?P<port>[0-9]{{1,5}})")


@dataclass(frozen=True, slots=True)
class BrokerEndpoint:
    """A listener's endpoint. `security_protocol` by its name, as SASL_SSL; `host` without brackets."""

    listener: str
    security_protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        """Return the endpoint as the znode has it: `SSL://[::1]:9093`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class BrokerZnode:
    """A broker's registration. `features`: the levels that it supports; None if it advertises none (before IBP 2.7)."""

    endpoints: tuple[BrokerEndpoint, ...]
    rack: str | None
    timestamp_ms: int
    features: "Supported | None"


def broker_path(broker_id: int) -> str:
    """Return the path of a broker's znode."""
    return f"{BROKER_IDS_PATH}/{broker_id}"


def encode_broker(znode: BrokerZnode) -> bytes:
    """Encode a registration: version 5 if the broker advertises its features, else 4."""
    plaintext = next((point for point in znode.endpoints if point.security_protocol == "PLAINTEXT"), None)
    # In the order in which Kafka 3.9 happens to write them.
    document: dict[str, object] = {
        "features": _features_document(znode.features),
        "listener_security_protocol_map": {point.listener: point.security_protocol for point in znode.endpoints},
        "endpoints": [str(point) for point in znode.endpoints],
        "rack": znode.rack,
        "jmx_port": _NO_PORT,
        "port": plaintext.port if plaintext else _NO_PORT,
        "host": plaintext.host if plaintext else None,
        "version": _WITHOUT_FEATURES if znode.features is None else _WITH_FEATURES,
        "timestamp": str(znode.timestamp_ms),
    }
    left_out = {key for key in ("features", "rack") if document[key] is None}
    return write_json({key: value for key, value in document.items() if key not in left_out})


def decode_broker(data: bytes, path: str) -> BrokerZnode:
    """Decode a registration of any version. Raises ZnodeError if it is malformed."""
    znode = read_object(data, path)
    version = read_version(znode, _VERSIONS)
    return BrokerZnode(
        endpoints=_only_endpoint(znode) if version == 1 else _endpoints(znode),
        rack=znode.text("rack") if "rack" in znode else None,
        timestamp_ms=znode.number_in_text("timestamp"),
        features=_features(znode) if version == _WITH_FEATURES else None,
    )


def _only_endpoint(znode: ZnodeObject) -> tuple[BrokerEndpoint, ...]:
    host = znode.text("host")
    if not _HOST.fullmatch(host):
        raise znode.fault(f"host is {shown(host)}, which no host is called")
    return (BrokerEndpoint("PLAINTEXT", "PLAINTEXT", host, znode.number("port", 0, _PORT_MAX)),)


def _endpoints(znode: ZnodeObject) -> tuple[BrokerEndpoint, ...]:
    protocols: Mapping[str, str] = _DEFAULT_LISTENERS
    key = "listener_security_protocol_map"
    if key in znode:
        protocols = {name.upper(): protocol for name, protocol in znode.named_texts(key)}
    endpoints = tuple(_endpoint(znode, text, protocols) for text in znode.texts("endpoints"))
    if not endpoints:
        raise znode.fault("endpoints is an empty list")
    return endpoints


def _endpoint(znode: ZnodeObject, text: str, protocols: Mapping[str, str]) -> BrokerEndpoint:
    match = _ENDPOINT.fullmatch(text) if len(text) <= TEXT_BYTES_MAX else None
    if match is None or int(match["port"]) > _PORT_MAX:
        raise znode.fault(f"the endpoint {shown(text)} is not LISTENER://host:port")
    listener = match["listener"].upper()
    protocol = protocols.get(listener)
    if protocol is None:
        raise znode.fault(f"the listener {shown(listener)} has no security protocol")
    if protocol not in _SECURITY_PROTOCOLS:
        raise znode.fault(f"the security protocol {shown(protocol)} of the listener {shown(listener)} is unknown")
    return BrokerEndpoint(listener, protocol, match["host"], int(match["port"]))


def _features_document(features: Supported | None) -> dict[str, dict[str, int]] | None:
    if features is None:
        return None
    return {
        name: {"min_version": levels.lowest, "max_version": levels.highest} for name, levels in sorted(features.items())
    }


def _features(znode: ZnodeObject) -> dict[str, SupportedRange]:
    if "features" not in znode:
        return {}
    return {name: _supported(part) for name, part in znode.named_parts("features", "feature")}


def _supported(part: ZnodeObject) -> SupportedRange:
    lowest = part.number("min_version", _LOWEST_LEVEL, INT16_MAX)
    highest = part.number("max_version", _LOWEST_LEVEL, INT16_MAX)
    if lowest > highest:
        raise part.fault(f"min_version {lowest} is above max_version {highest}")
    return SupportedRange(lowest, highest)
