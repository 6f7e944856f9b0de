"""Hosts in ACLs: `*`, an address, or from 4.4-IV1 on a range of addresses."""

from __future__ import annotations

import functools
import ipaddress
import re
from typing import Final

from falkirk.metadata.acls.acl_types import WILDCARD

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
# Masks in dotted form and IPv4 inside of IPv6, which Python would take, are none to Kafka.
_RANGE: Final = re.compile(r"[0-9.]+/[0-9]{1,2}|[0-9a-fA-F:]+/[0-9]{1,3}")


def matches_host(acl_host: str, client_host: str, *, knows_ranges: bool) -> bool:
    """Return whether an ACL's host covers the client. `client_host` is written as by `java_address`."""
    if acl_host in {WILDCARD, client_host}:
        return True
    if not knows_ranges or "/" not in acl_host:
        return False
    network = parse_range(acl_host)
    address = _parse_address(client_host)
    return network is not None and address is not None and address in network


def java_address(host: str) -> str:
    """Write a client's address as Java does, and ACLs with it: IPv6 in eight groups without leading zeros."""
    if ":" not in host:
        return host
    address = _parse_address(host)
    if not isinstance(address, ipaddress.IPv6Address):
        return host if address is None else str(address)
    return ":".join(f"{int(group, 16):x}" for group in address.exploded.split(":"))


@functools.lru_cache(maxsize=4096)
def parse_range(text: str) -> _Network | None:
    """Parse `10.0.0.0/8` or `fd00::/8`, bits behind the prefix allowed; None if the text is no range."""
    if not _RANGE.fullmatch(text):
        return None
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


@functools.lru_cache(maxsize=4096)
def _parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    # An IPv4 client on an IPv6 socket.
    return getattr(address, "ipv4_mapped", None) or address
