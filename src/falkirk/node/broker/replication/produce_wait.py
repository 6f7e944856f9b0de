"""A produce request that waits for its records to be replicated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from falkirk.node.broker.replication.waits import OrderedWait
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.node.broker.replication.answers import PartitionProduced
    from falkirk.protocol.topic_partition import TopicIdPartition, TopicPartition


class ProduceWait(OrderedWait):
    """`produced`: the response if all goes well, errors included; `pending`: partitions that are not replicated yet."""

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
        """Record a partition's outcome; respond, and return True, if it was the last one."""
        key = self._pending.pop(partition)
        if outcome is not ErrorCode.NONE:
            self._produced[key] = replace(self._produced[key], error_code=outcome)
        if not self._pending:
            self._answer()
        return self.is_done

    def try_complete(self) -> bool:
        """Return whether `settle` has completed it."""
        return self.is_done

    def expire(self) -> None:
        """Respond, with REQUEST_TIMED_OUT for partitions that are not replicated."""
        for key in self._pending.values():
            self._produced[key] = replace(self._produced[key], error_code=ErrorCode.REQUEST_TIMED_OUT)
        self._answer()

    def _answer(self) -> None:
        self.is_done = True
        self._done(self._produced)
