"""Quotas of partition mutations: how many partitions a client may create and delete each second. Source: KIP-599."""

from __future__ import annotations

from typing import Final

from falkirk.metadata.requests.api_error import NO_ERROR, ApiError
from falkirk.protocol.error_codes import ErrorCode

THROTTLE_MS_MAX: Final = (1 << 31) - 1
"""What the field of a response holds; a quota near 0 would throttle for longer than any number says."""
_EXCEEDED: Final = ApiError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded.")


class TokenBucket:
    """Tokens that come at `rate` each second, up to `burst`. More may be removed than there are: that is a debt."""

    __slots__ = ("_burst", "_rate", "_tokens", "_updated_ms")

    def __init__(self, *, rate: float, burst: float, now_ms: int) -> None:
        self._rate = rate
        self._burst = self._tokens = burst
        self._updated_ms = now_ms

    def change(self, *, rate: float, burst: float, now_ms: int) -> None:
        """Apply another rate from now on."""
        self._refill(now_ms)
        self._rate, self._burst = rate, burst
        self._tokens = min(self._tokens, burst)

    def remove(self, count: float, now_ms: int) -> None:
        """Remove tokens, whether they are there or not."""
        self._refill(now_ms)
        self._tokens -= count

    def debt_ms(self, now_ms: int) -> int:
        """Return how long it takes until there is no debt; 0 without one."""
        self._refill(now_ms)
        return round(min(-self._tokens / self._rate * 1000, THROTTLE_MS_MAX)) if self._tokens < 0 else 0

    def _refill(self, now_ms: int) -> None:
        self._tokens = min(self._burst, self._tokens + (now_ms - self._updated_ms) / 1000 * self._rate)
        self._updated_ms = now_ms


class MutationQuota:
    """The quota of one request; without a bucket all is accepted.

    Strict ones refuse while there is a debt. The others accept everything: the client is throttled afterwards, because
    its version of the API has no error for it.
    """

    def __init__(self, bucket: TokenBucket | None = None, *, is_strict: bool = False, now_ms: int = 0) -> None:
        self.throttle_ms = 0
        self._bucket = bucket
        self._is_strict = is_strict
        self._now_ms = now_ms
        self._accepted = 0

    def restart(self) -> None:
        """Drop what was counted: the request is decided on anew."""
        if self._bucket is not None:
            self._bucket.remove(-self._accepted, self._now_ms)
        self._accepted = self.throttle_ms = 0

    def accept(self, partition_count: int) -> ApiError:
        """Count the partitions that are created or deleted; THROTTLING_QUOTA_EXCEEDED if that has to wait."""
        bucket = self._bucket
        if bucket is None:
            return NO_ERROR
        if self._is_strict and (debt_ms := bucket.debt_ms(self._now_ms)) > 0:
            self.throttle_ms = debt_ms
            return _EXCEEDED
        bucket.remove(partition_count, self._now_ms)
        self._accepted += partition_count
        if not self._is_strict:
            self.throttle_ms = bucket.debt_ms(self._now_ms)
        return NO_ERROR


UNLIMITED: Final = MutationQuota()
