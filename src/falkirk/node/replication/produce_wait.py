"""A produce request that waits until all in-sync replicas have its records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from falkirk.node.replication.waits import OrderedWait
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.node.replication.answers import PartitionProduced
    from falkirk.protocol.topic_partition import TopicIdPartition, TopicPartition


class ProduceWait(OrderedWait):
    """`produced`: what is answered if all goes well, errors included; `pending`: what is not replicated yet."""

    __slots__ = ("_done", "_pending", "_produced")

    def __init__(
        self,
        produced: dict[TopicIdPartition, PartitionProduced],
        pending: dict[TopicPartition, TopicIdPartition],
        *,
        deadline_ms: int,
        done: Callable[[Mapping[TopicIdPartition, PartitionProduced]], None],
    ) -> None:
        super().__init__(deadline_ms)
        self._produced = produced
        self._pending = pending
        self._done = done

    def settle(self, partition: TopicPartition, outcome: ErrorCode) -> bool:
        """Take note of what became of a partition; answer, and give True, if that was the last one."""
        key = self._pending.pop(partition)
        if outcome is not ErrorCode.NONE:
            self._produced[key] = replace(self._produced[key], error_code=outcome)
        if not self._pending:
            self._answer()
        return self.is_done

    def try_complete(self) -> bool:
        """Wait on: `settle` is what ends it."""
        return self.is_done

    def expire(self) -> None:
        """Answer; of what is not known to be replicated in time, that."""
        for key in self._pending.values():
            self._produced[key] = replace(self._produced[key], error_code=ErrorCode.REQUEST_TIMED_OUT)
        self._answer()

    def _answer(self) -> None:
        self.is_done = True
        self._done(self._produced)
