"""What happened on accepted connections, counted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class ConnectionCounters:
    """Counts since the node started, for metrics."""

    accepted: int = 0
    requests: int = 0
    # How often the requests of a connection were held because a quota was used up.
    throttled: int = 0
    # Closed because of what the client sent: bytes that do not parse, APIs that are not served, too much at once.
    closed_for_garbage: int = 0
    closed_for_unserved_apis: int = 0
    closed_for_flooding: int = 0
    closed_for_slowness: int = 0
    closed_for_idleness: int = 0
    closed_for_other_versions: int = 0
