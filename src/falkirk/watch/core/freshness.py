"""How old what is known may be: each source has the time when it was last read to its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from falkirk.watch.core.findings import Source

METADATA: Final = "metadata"
NODES: Final = "nodes"
GROUPS: Final = "groups"
TRANSACTIONS: Final = "transactions"
SOURCES: Final = (METADATA, NODES, GROUPS, TRANSACTIONS)
FRESH_MS: Final = 15_000
"""What was read longer ago is not known any more."""


@dataclass(slots=True)
class SourceState:
    """One source. `as_of_ms`: None until it was read to its end for the first time."""

    name: str
    fresh_ms: int
    as_of_ms: int | None = None
    reason: str | None = None
    needs: str | None = None
    lag: int = 0

    def succeeded(self, now_ms: int, lag: int = 0) -> None:
        """Note that the source was read; to its end if `lag` is 0."""
        self.reason = self.needs = None
        self.lag = lag
        if lag == 0:
            self.as_of_ms = now_ms

    def failed(self, reason: str, needs: str | None) -> None:
        """Note that the source could not be read; it stays fresh for a while."""
        self.reason, self.needs = reason, needs

    def is_fresh(self, now_ms: int) -> bool:
        """Return whether what is known counts. A clock that was set back makes nothing fresh."""
        return self.as_of_ms is not None and -self.fresh_ms <= now_ms - self.as_of_ms <= self.fresh_ms

    def source(self, now_ms: int) -> Source:
        """Return it as findings have it."""
        return Source(
            name=self.name,
            is_fresh=self.is_fresh(now_ms),
            as_of_ms=self.as_of_ms,
            reason=self.reason,
            needs=self.needs,
            lag=self.lag,
        )
