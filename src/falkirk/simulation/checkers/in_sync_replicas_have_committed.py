"""InSyncReplicasHaveCommitted: who may lead next has all that is committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.data_checker import DataChecker
from falkirk.simulation.log_watch import Seen

if TYPE_CHECKING:
    from falkirk.simulation.log_view import LogView
    from falkirk.simulation.workload.data_history import PartitionKey


class InSyncReplicasHaveCommitted(DataChecker):
    """When a leader raises the high watermark, every replica that the controllers call in sync has its log up to there.

    So has who joins them, and who is eligible to lead in their place (KIP-966). A broker that is down counts with what
    it had: the crash of a process takes nothing away.
    """

    def __init__(self) -> None:
        self._committed: dict[PartitionKey, int] = {}

    def joined(self, broker_id: int, key: PartitionKey) -> None:
        """Compare the end of a log with all that is committed by now."""
        end, committed = self.watch.seen.get((broker_id, key), Seen()).end, self._committed.get(key, 0)
        if end < committed and not self.is_lossy(key):
            raise self.violated(
                f"{self.place(broker_id, key)} is in sync now, its log ends at {end}, {committed} are committed"
            )

    def committed(self, broker_id: int, log: LogView, from_offset: int, to_offset: int) -> None:  # noqa: ARG002
        """Compare the ends of the logs with the high watermark."""
        key = log.key
        partition = self.watch.partition(key)
        if log.led_epoch is None or partition is None or self.is_lossy(key):
            return
        self._committed[key] = max(self._committed.get(key, 0), to_offset)
        for member in (*partition.isr, *partition.eligible_leader_replicas):
            end = self.watch.seen.get((member, key), Seen()).end
            if end < to_offset and member not in self.watch.suspects.get(key, ()):
                is_what = "in sync" if member in partition.isr else "eligible"
                raise self.violated(
                    f"{self.place(broker_id, key)} has high watermark {to_offset}, "
                    f"broker {member} is {is_what} and its log ends at {end}"
                )
