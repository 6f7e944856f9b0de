"""Throttles of replication and of moves between log directories (KIP-73, KIP-113).

A rate is the sum of some windows divided by the time that they cover, as Kafka's SimpleRate. Nothing is ever held back
in the middle: once a rate is above its limit, nothing more of what is throttled is fetched or copied until it is not.
Source: ReplicationQuotaManager, SampledStat, ReplicaManager.shouldLeaderThrottle.
"""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from falkirk.metadata.image.configs import TOPIC
from falkirk.node.config.static_configs import static_value

if TYPE_CHECKING:
    from falkirk.node.broker.replication.context import ReplicationContext
    from falkirk.protocol.topic_partition import TopicPartition

LEADER_RATE: Final = "leader.replication.throttled.rate"
LEADER_REPLICAS: Final = "leader.replication.throttled.replicas"
FOLLOWER_RATE: Final = "follower.replication.throttled.rate"
FOLLOWER_REPLICAS: Final = "follower.replication.throttled.replicas"
ALTER_LOG_DIRS_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
_ALL_REPLICAS: Final = "*"
# More is the number of nothing, and Python refuses to read thousands of digits.
_NUMBER: Final = re.compile(r"[0-9]{1,19}")


class SampledRate:
    """Bytes per second over the last `windows` windows of `window_ms` each, and the current one."""

    def __init__(self, *, windows: int, window_ms: int) -> None:
        self._windows = windows
        self._window_ms = window_ms
        self._samples: deque[_Sample] = deque(maxlen=windows + 1)

    def record(self, size_bytes: int, now_ms: int) -> None:
        """Add bytes to the current window; the next one begins with the first bytes after its end."""
        if not self._samples or now_ms - self._samples[-1].start_ms >= self._window_ms:
            self._samples.append(_Sample(now_ms))
        newest = self._samples[-1]
        newest.size_bytes += size_bytes
        newest.last_ms = now_ms

    def measure(self, now_ms: int) -> float:
        """Return the rate; the time that it covers is at least one window."""
        age_ms = self._windows * self._window_ms
        while self._samples and now_ms - self._samples[0].last_ms >= age_ms:
            self._samples.popleft()
        if not self._samples:
            self._samples.append(_Sample(now_ms))
        elapsed_ms = max(now_ms - self._samples[0].start_ms, self._window_ms)
        return sum(sample.size_bytes for sample in self._samples) * 1000 / elapsed_ms


class _Sample:
    __slots__ = ("last_ms", "size_bytes", "start_ms")

    def __init__(self, start_ms: int) -> None:
        self.start_ms = self.last_ms = start_ms
        self.size_bytes = 0


class ReplicationQuota:
    """One throttle of a broker: its limit is a dynamic config of the broker, else the default of all brokers.

    `replicas_config`: the topics' config that names the throttled replicas; None: everything is throttled.
    """

    def __init__(
        self, context: ReplicationContext, rate_config: str, replicas_config: str | None, windows_prefix: str
    ) -> None:
        self._context = context
        self._rate_config = rate_config
        self._replicas_config = replicas_config
        configs = context.config
        num = static_value(configs.properties, configs.release, f"{windows_prefix}.num")
        size_s = static_value(configs.properties, configs.release, f"{windows_prefix}.size.seconds")
        assert isinstance(num, int), "an integer by its definition"
        assert isinstance(size_s, int), "an integer by its definition"
        self._rate = SampledRate(windows=num, window_ms=size_s * 1000)

    @property
    def limit(self) -> int | None:
        """Bytes per second; None: unlimited."""
        for text in self._context.image.configs.broker_values(self._context.node_id, self._rate_config):
            # Controllers store what no broker has checked; Kafka's brokers pass over it, too.
            if _NUMBER.fullmatch(text.strip()):
                return int(text)
        return None

    def is_throttled(self, partition: TopicPartition) -> bool:
        """Return whether this broker's replica of a partition is throttled."""
        if self._replicas_config is None:
            return True
        text = self._context.image.configs.of(TOPIC, partition.topic).get(self._replicas_config)
        if not text:
            return False
        throttled = _throttled_partitions(text, self._context.node_id)
        return throttled is None or partition.partition in throttled

    @property
    def is_exceeded(self) -> bool:
        """Return whether the rate is above the limit."""
        limit = self.limit
        return limit is not None and self._rate.measure(self._context.now_ms) > limit

    @property
    def byte_rate(self) -> float:
        """Throttled bytes per second, limited or not."""
        return self._rate.measure(self._context.now_ms)

    def record(self, size_bytes: int) -> None:
        """Count bytes of throttled replicas that were transferred."""
        if size_bytes:
            self._rate.record(size_bytes, self._context.now_ms)


class ReplicationQuotas:
    """The three throttles of a broker.

    `leader`: what followers that are not in sync fetch; `follower`: what this broker fetches where it is not in sync;
    `alter_log_dirs`: what it copies from one of its log directories to another.
    """

    def __init__(self, context: ReplicationContext) -> None:
        self.leader = ReplicationQuota(context, LEADER_RATE, LEADER_REPLICAS, "replication.quota.window")
        self.follower = ReplicationQuota(context, FOLLOWER_RATE, FOLLOWER_REPLICAS, "replication.quota.window")
        self.alter_log_dirs = ReplicationQuota(
            context, ALTER_LOG_DIRS_RATE, None, "alter.log.dirs.replication.quota.window"
        )


@lru_cache(maxsize=1024)
def _throttled_partitions(text: str, broker_id: int) -> frozenset[int] | None:
    """Return the partitions of `[partition]:[broker],...` whose replica on this broker is throttled; None: all."""
    if text.strip() == _ALL_REPLICAS:
        return None
    replicas = (entry.strip().partition(":") for entry in text.split(","))
    return frozenset(
        int(partition)
        for partition, _, broker in replicas
        if _NUMBER.fullmatch(partition) and _NUMBER.fullmatch(broker) and int(broker) == broker_id
    )
