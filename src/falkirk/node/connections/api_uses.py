"""Counts requests by API, version and client software (KIP-35, KIP-511).

An operator needs these counts before versions are removed (KIP-584).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.structs import IdentityStruct

if TYPE_CHECKING:
    from collections.abc import Iterator

# Clients choose the names of their software, so their number needs a limit.
API_USES_MAX: Final = 2000
OTHER: Final = "other"
"""The software name under which clients beyond the limit are counted."""


class ApiUse(IdentityStruct):
    """One version of an API and one software, whose name and version may be empty. `requests`: since the start."""

    api_key: int
    api_version: int
    software_name: str
    software_version: str
    requests: int = 0


class ApiUses:
    """Counters. A connection keeps the one that it uses, so that counting a request is one addition."""

    def __init__(self) -> None:
        self._uses: dict[tuple[int, int, str, str], ApiUse] = {}

    def __iter__(self) -> Iterator[ApiUse]:
        return iter(self._uses.values())

    def of(self, api_key: int, api_version: int, software_name: str, software_version: str) -> ApiUse:
        """Return a counter, made if it is new; beyond API_USES_MAX that of OTHER."""
        key = (api_key, api_version, software_name, software_version)
        use = self._uses.get(key)
        if use is None:
            if len(self._uses) >= API_USES_MAX and software_name != OTHER:
                return self.of(api_key, api_version, OTHER, "")
            use = self._uses[key] = ApiUse(*key)
        return use
