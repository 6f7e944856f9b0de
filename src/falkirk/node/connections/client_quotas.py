"""Quotas of clients: bytes each second that they produce and fetch, the node's time, partition mutations, connections.

The quota of the most specific entity counts: (user, client id) before the user before the client id, each by name
before its default. Clients whose quota is that of a user share it, and so do users of one client id.
Source: KIP-13, KIP-55, KIP-124, KIP-599, KIP-612.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from immutables import Map

from falkirk.metadata.controller.state.mutation_quota import THROTTLE_MS_MAX, UNLIMITED, MutationQuota, TokenBucket
from falkirk.node.config.static_configs import static_value
from falkirk.node.connections.request_times import RequestTimes

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.image.client_quotas import ClientQuotasImage
    from falkirk.metadata.records.record_key import QuotaEntity
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.config.node_config import NodeConfig

# What is measured, and the user and the client id that it is measured of; None: any.
_Sharing = tuple[str, str | None, str | None]
_T = TypeVar("_T")
PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
_REQUEST_PERCENTAGE: Final = "request_percentage"
_MUTATION_RATE: Final = "controller_mutation_rate"
_CONNECTION_RATE: Final = "connection_creation_rate"
# Percent of one second of the node's thread.
_PERCENT_PER_NS: Final = 100 / 1_000_000_000
_NONE: Final[Map[str, float]] = Map()
# Clients that are remembered; one that was forgotten begins anew.
CLIENTS_MAX: Final = 10_000


class QuotaWindows(NamedTuple):
    """`quota.window.num` and `quota.window.size.seconds`, or those of the controller: what a rate is measured over."""

    number: int = 11
    size_ms: int = 1000

    @property
    def total_ms(self) -> int:
        """The length of all windows."""
        return self.number * self.size_ms


class SampledRate:
    """A rate over the last windows, each counted as a whole until it is over."""

    __slots__ = ("_samples", "_windows")

    def __init__(self, windows: QuotaWindows) -> None:
        self._windows = windows
        # (start, amount), the newest last.
        self._samples: deque[tuple[int, float]] = deque()

    def record(self, amount: float, now_ms: int) -> None:
        """Add an amount; a negative one takes back what was recorded at the same time."""
        samples = self._samples
        if samples and now_ms - samples[-1][0] < self._windows.size_ms:
            start_ms, recorded = samples[-1]
            samples[-1] = start_ms, recorded + amount
        else:
            samples.append((now_ms, amount))

    def throttle_ms(self, limit: float, now_ms: int) -> int:
        """Return for how long nothing may be recorded, so that the rate falls to `limit` (1/s); 0 if it is below.

        To a limit of 0 (`max.connection.creation.rate`) it falls when all windows are over.
        """
        samples, windows = self._samples, self._windows
        while samples and now_ms - samples[0][0] >= windows.total_ms:
            samples.popleft()
        if not samples:
            return 0
        if not limit:
            return windows.total_ms
        # As Kafka does, all windows but the last count in full: a client that has just begun may burst.
        elapsed_ms = now_ms - samples[0][0]
        missing = max(windows.number - 1 - elapsed_ms // windows.size_ms, 0)
        elapsed_ms = max(elapsed_ms + missing * windows.size_ms, 1)
        rate = sum(amount for _, amount in samples) * 1000 / elapsed_ms
        # Kafka's controllers stored limits that are no number or infinite; others are near 0.
        return round(min((rate - limit) / limit * elapsed_ms, THROTTLE_MS_MAX)) if rate > limit else 0


def client_quotas(
    config: NodeConfig,
    image: Callable[[], ClientQuotasImage],
    now_ms: Callable[[], int],
    thread_ns: Callable[[], int],
) -> ClientQuotas:
    """Return the quotas of a node's clients; `image` returns the current ones, `thread_ns` is as in RequestTimes."""

    def windows(prefix: str) -> QuotaWindows:
        count = static_value(config.properties, config.release, f"{prefix}quota.window.num")
        seconds = static_value(config.properties, config.release, f"{prefix}quota.window.size.seconds")
        assert isinstance(count, int)
        assert isinstance(seconds, int)
        return QuotaWindows(count, 1000 * seconds)

    return ClientQuotas(image, now_ms, windows(""), windows("controller."), thread_ns)


class _Limit(NamedTuple):
    rate: float
    shared_by: _Sharing


class ClientQuotas:
    """Records what clients do, and returns for how long they are throttled."""

    def __init__(
        self,
        image: Callable[[], ClientQuotasImage],
        now_ms: Callable[[], int],
        windows: QuotaWindows,
        controller_windows: QuotaWindows,
        thread_ns: Callable[[], int] = lambda: 0,
    ) -> None:
        self.request_times = RequestTimes(self._record_request_time, thread_ns)
        self._image = image
        self._now_ms = now_ms
        self._windows = windows
        self._controller_windows = controller_windows
        self._rates: OrderedDict[_Sharing, SampledRate] = OrderedDict()
        self._buckets: OrderedDict[_Sharing, TokenBucket] = OrderedDict()
        # The quotas for which `limits_requests` was decided.
        self._decided_for: ClientQuotasImage | None = None
        self._limits_requests = False

    def record_bytes(self, quota: str, context: RequestContext, size: int) -> int:
        """Count bytes; return for how many ms the client must wait, 0 if it is below its quota."""
        limit = self._limit(quota, context)
        if limit is None:
            return 0
        rate, now_ms = self._rate(limit), self._now_ms()
        rate.record(size, now_ms)
        return rate.throttle_ms(limit.rate, now_ms)

    def fetched(self, context: RequestContext, size: int) -> int:
        """Count the bytes of a response; return for how many ms the client must wait, for these or for its requests.

        Then it gets none of them, and they do not count.
        """
        throttle_ms = max(self.record_bytes(CONSUMER_BYTE_RATE, context, size), self.request_throttle_ms(context))
        if throttle_ms:
            self.record_bytes(CONSUMER_BYTE_RATE, context, -size)
        return throttle_ms

    @property
    def limits_requests(self) -> bool:
        """True if there is a quota of the time that requests take."""
        image = self._image()
        if image is not self._decided_for:
            self._decided_for = image
            self._limits_requests = any(_REQUEST_PERCENTAGE in quotas for quotas in image.entities.values())
        return self._limits_requests

    def request_throttle_ms(self, context: RequestContext) -> int:
        """Return for how many ms a client must wait for the time that its requests have taken: at most one window."""
        if not self.limits_requests:
            return 0
        self.request_times.flush()
        limit = self._limit(_REQUEST_PERCENTAGE, context)
        if limit is None:
            return 0
        return min(self._rate(limit).throttle_ms(limit.rate, self._now_ms()), self._windows.size_ms)

    def _record_request_time(self, context: RequestContext, duration_ns: int) -> None:
        limit = self._limit(_REQUEST_PERCENTAGE, context)
        if limit is not None:
            self._rate(limit).record(duration_ns * _PERCENT_PER_NS, self._now_ms())

    def fetch_bytes_max(self, context: RequestContext, bytes_max: int) -> int:
        """Return how many bytes a client may fetch at once: as many as all windows but one hold."""
        limit = self._limit(CONSUMER_BYTE_RATE, context)
        span_ms = self._windows.total_ms - self._windows.size_ms
        return bytes_max if limit is None or not span_ms else int(min(bytes_max, limit.rate * span_ms / 1000))

    def mutations(self, context: RequestContext, *, strict_since: int) -> MutationQuota:
        """Return the quota of a request that creates or deletes partitions; `strict_since`: a version of its API."""
        limit = self._limit(_MUTATION_RATE, context)
        if limit is None:
            return UNLIMITED
        now_ms = self._now_ms()
        burst = limit.rate * self._controller_windows.total_ms / 1000
        bucket = self._buckets.get(limit.shared_by)
        if bucket is None:
            bucket = self._buckets[limit.shared_by] = TokenBucket(rate=limit.rate, burst=burst, now_ms=now_ms)
        else:
            bucket.change(rate=limit.rate, burst=burst, now_ms=now_ms)
        _bound(self._buckets, limit.shared_by)
        return MutationQuota(bucket, is_strict=context.api_version >= strict_since, now_ms=now_ms)

    def connected(self, client_host: str) -> int:
        """Count a new connection of an address; return for how many ms it connects too often, 0 if it does not.

        One that comes too soon does not count.
        """
        entities, now_ms = self._image().entities, self._now_ms()
        for name in (client_host, None):
            rate = entities.get((("ip", name),), _NONE).get(_CONNECTION_RATE)
            if rate is not None:
                limit = _Limit(rate, (_CONNECTION_RATE, client_host, None))
                sampled = self._rate(limit)
                sampled.record(1, now_ms)
                throttle_ms = sampled.throttle_ms(rate, now_ms)
                if throttle_ms:
                    sampled.record(-1, now_ms)
                return throttle_ms
        return 0

    def _limit(self, quota: str, context: RequestContext) -> _Limit | None:
        entities = self._image().entities
        # Read with every request, and most clusters have none.
        if not entities:
            return None
        user, client_id = context.principal.name, context.client_id or ""
        for entity, shared_user, shared_client in _precedence(user, client_id):
            rate = entities.get(entity, _NONE).get(quota)
            if rate is not None:
                return _Limit(rate, (quota, shared_user, shared_client))
        return None

    def _rate(self, limit: _Limit) -> SampledRate:
        rate = self._rates.get(limit.shared_by)
        if rate is None:
            rate = self._rates[limit.shared_by] = SampledRate(self._windows)
        _bound(self._rates, limit.shared_by)
        return rate


def _precedence(user: str, client_id: str) -> tuple[tuple[QuotaEntity, str | None, str | None], ...]:
    """Return the entities whose quota may count for a client, and who shares it, the most specific first."""
    return (
        ((("client-id", client_id), ("user", user)), user, client_id),
        ((("client-id", None), ("user", user)), user, client_id),
        ((("user", user),), user, None),
        ((("client-id", client_id), ("user", None)), user, client_id),
        ((("client-id", None), ("user", None)), user, client_id),
        ((("user", None),), user, None),
        ((("client-id", client_id),), None, client_id),
        ((("client-id", None),), None, client_id),
    )


def _bound(known: OrderedDict[_Sharing, _T], used: _Sharing) -> None:
    known.move_to_end(used)
    if len(known) > CLIENTS_MAX:
        known.popitem(last=False)
