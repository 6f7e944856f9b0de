"""Measures how long no metadata write goes through: a request that creates nothing, again and again.

An UpdateFeatures that changes no feature and only validates is answered by the active controller once every write
before it is committed, and leaves no record. It needs ALTER on the cluster, as changes of the voters do.
Source: KIP-778.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from typing import TYPE_CHECKING, Final, Self

from falkirk.client.errors import ClientError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import UpdateFeaturesRequest, UpdateFeaturesResponse
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from types import TracebackType

    from falkirk.client.admin import AsyncAdmin

# Dry runs came with version 1.
_VERSIONS: Final = SupportedRange(1, 2)
_INTERVAL_S: Final = 0.25
# Longer than the interval and a slow answer.
_INTERRUPTION_S: Final = 0.5
_TIMEOUT_MS: Final = 2000
_NOT_DECIDED: Final = frozenset(
    {ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE}
)


class Probe:
    """Asks while its block runs. `admin`: of brokers; they forward to the controller that they follow."""

    def __init__(self, admin: AsyncAdmin) -> None:
        self._admin = admin
        self._answered: list[float] = []
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._answered.append(time.monotonic())
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    @property
    def silent_s(self) -> float:
        """For how long nothing has been answered until now."""
        return time.monotonic() - self._answered[-1]

    def longest_s(self, since_s: float) -> float:
        """Return the longest time without an answer since `since_s` (of time.monotonic), the current one included."""
        times = [since_s, *(at for at in self._answered if at > since_s), time.monotonic()]
        return max(after - before for before, after in itertools.pairwise(times))

    def interruptions(self, since_s: float) -> list[dict[str, float]]:
        """Return the times without an answer of at least half a second since then: `at_ms` since 1970, `duration_s`."""
        times = [since_s, *(at for at in self._answered if at > since_s), time.monotonic()]
        now_ms, now_s = time.time_ns() // 1_000_000, time.monotonic()
        return [
            {"at_ms": now_ms - round((now_s - before) * 1000), "duration_s": round(after - before, 2)}
            for before, after in itertools.pairwise(times)
            if after - before >= _INTERRUPTION_S
        ]

    async def _run(self) -> None:
        request = UpdateFeaturesRequest(timeout_ms=_TIMEOUT_MS, validate_only=True)
        while True:
            with contextlib.suppress(ClientError):
                response = await (await self._admin.any_node()).request(request, wanted=_VERSIONS)
                assert isinstance(response, UpdateFeaturesResponse)
                if response.error_code not in _NOT_DECIDED:
                    self._answered.append(time.monotonic())
            await asyncio.sleep(_INTERVAL_S)
