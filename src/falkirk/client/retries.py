"""How long a call retries while leaders and coordinators move."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from falkirk.client.config import ClientConfig

API_TIMEOUT_MS: Final = 60_000
"""Kafka's default.api.timeout.ms."""


class Retries:
    """Counts from its construction, which needs a running event loop."""

    def __init__(self, config: ClientConfig, timeout_ms: int) -> None:
        self._clock = asyncio.get_running_loop().time
        self._backoff_s = config.retry_backoff_ms / 1000
        self._request_timeout_ms = config.request_timeout_ms
        self._deadline_s = self._clock() + timeout_ms / 1000

    @property
    def is_last(self) -> bool:
        """Whether there is no time for another attempt."""
        return self._clock() + self._backoff_s >= self._deadline_s

    @property
    def request_timeout_ms(self) -> int:
        """How long one request may take."""
        left_ms = int((self._deadline_s - self._clock()) * 1000)
        return max(min(left_ms, self._request_timeout_ms), 1)

    async def pause(self) -> None:
        """Wait before the next attempt."""
        await asyncio.sleep(self._backoff_s)
