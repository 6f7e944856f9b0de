"""LastStableOffsetFits: READ_COMMITTED ends at the first transaction without a committed marker, and not before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.simulation.checkers.data_checker import DataChecker
from falkirk.simulation.plans.transaction_plan import TRANSACTED

if TYPE_CHECKING:
    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.simulation.history.data_history import PartitionKey
    from falkirk.simulation.views.cluster_logs import Seen
    from falkirk.simulation.views.log_view import LogView


@dataclass(slots=True)
class _Span:
    """A transaction in a log: the offsets of its first record and of its marker.

    `was_there`: both were when the broker opened the log, or cut it off.
    """

    producer_id: int
    first: int
    marker: int | None = None
    was_there: bool = False


class LastStableOffsetFits(DataChecker):
    """What is open it finds in the batches themselves. Only in the topic of transactions, where nothing is deleted.

    A broker that reads a snapshot of its producers does not know whose markers are not committed, as in Kafka.
    """

    def __init__(self) -> None:
        self._spans: dict[tuple[int, PartitionKey], list[_Span]] = {}

    def changed(self, broker_id: int, log: LogView, before: Seen, now: Seen) -> None:
        """Follow the batches, and compare the last stable offset with them."""
        key = log.key
        if self.logs.history.topics.get(key.topic_id) != TRANSACTED or self.is_lossy(key):
            return
        cut = min(before.end, now.end)
        spans = self._spans[broker_id, key] = _cut(self._spans.get((broker_id, key), []), cut)
        for batch in log.batches(cut, now.end):
            _follow(spans, batch)
        if before.end == now.start or now.end < before.end:
            for each in spans:
                each.was_there = each.marker is not None
        spans[:] = [each for each in spans if each.marker is None or each.marker >= now.high_watermark]
        lowest = min([now.high_watermark, *(each.first for each in spans)])
        highest = min([now.high_watermark, *(each.first for each in spans if not each.was_there)])
        if not lowest <= log.last_stable_offset <= highest:
            raise self.violated(
                f"{self.place(broker_id, key)} has last stable offset {log.last_stable_offset}, high watermark "
                f"{now.high_watermark} and transactions {spans}"
            )


def _cut(spans: list[_Span], end: int) -> list[_Span]:
    """Return what is left of the transactions in a log that was cut off at an offset."""
    left = [each for each in spans if each.first < end]
    for each in left:
        if each.marker is not None and each.marker >= end:
            each.marker = None
            each.was_there = False
    return left


def _follow(spans: list[_Span], batch: RecordBatch) -> None:
    if not batch.is_transactional:
        return
    mine = next((each for each in spans if each.producer_id == batch.producer_id and each.marker is None), None)
    if batch.is_control:
        if mine is not None:
            mine.marker = batch.base_offset
    elif mine is None:
        spans.append(_Span(batch.producer_id, batch.base_offset))
