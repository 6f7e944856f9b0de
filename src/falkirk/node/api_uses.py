"""Which versions of which APIs are asked for, and by what software (KIP-35, KIP-511).

An operator must know that before versions go (KIP-584).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

# Clients say themselves what software they are, so there must be an end to it.
API_USES_MAX: Final = 2000
OTHER: Final = "other"
"""Stands for software beyond what is told apart."""


class ApiUse(msgspec.Struct, eq=False):
    """One version of an API, one software; empty if it did not say what it is. `requests` counts since the start."""

    api_key: int
    api_version: int
    software_name: str
    software_version: str
    requests: int = 0


class ApiUses:
    """Counters; whoever has one may count on by itself, so that a request costs no more than that."""

    def __init__(self) -> None:
        self._uses: dict[tuple[int, int, str, str], ApiUse] = {}

    def __iter__(self) -> Iterator[ApiUse]:
        """Give all counters."""
        return iter(self._uses.values())

    def of(self, api_key: int, api_version: int, software_name: str, software_version: str) -> ApiUse:
        """Give a counter."""
        key = (api_key, api_version, software_name, software_version)
        use = self._uses.get(key)
        if use is None:
            if len(self._uses) >= API_USES_MAX and software_name != OTHER:
                return self.of(api_key, api_version, OTHER, "")
            use = self._uses[key] = ApiUse(*key)
        return use
