"""Versions of request and response headers by API version.

A flexible request has header 2, others 1 (0 for the oldest ControlledShutdown); a flexible response has header 1,
others 0, and ApiVersions always 0, so that a client can read it before it knows anything (KIP-511).
"""

from __future__ import annotations

from functools import cache

from falkirk.protocol.messages import REQUESTS, message_class

_API_VERSIONS = 18
_CONTROLLED_SHUTDOWN = 7


def request_header_version(api_key: int, api_version: int) -> int:
    """Return the version of the request header. Raises KeyError for an unknown API."""
    if api_key == _CONTROLLED_SHUTDOWN and api_version == 0:
        return 0
    return 2 if is_flexible(api_key, api_version) else 1


def response_header_version(api_key: int, api_version: int) -> int:
    """Return the version of the response header. Raises KeyError for an unknown API."""
    if api_key == _API_VERSIONS:
        return 0
    return 1 if is_flexible(api_key, api_version) else 0


@cache
def is_flexible(api_key: int, api_version: int) -> bool:
    """Return whether this version of the API has compact lengths and tagged fields (KIP-482)."""
    return api_version in message_class(REQUESTS[api_key]).SCHEMA.info.flexible
