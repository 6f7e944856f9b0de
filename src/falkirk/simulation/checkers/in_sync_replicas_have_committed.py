"""InSyncReplicasHaveCommitted: every replica that may become leader has all committed records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.data_checker import DataChecker
from falkirk.simulation.views.cluster_logs import Seen

if TYPE_CHECKING:
    from falkirk.simulation.history.data_history import PartitionKey
    from falkirk.simulation.views.log_view import LogView


class InSyncReplicasHaveCommitted(DataChecker):
    """When a leader raises the high watermark, the log of every replica in the ISR reaches it.

    The same holds for a replica that joins the ISR, and for eligible leader replicas (KIP-966). A broker that is down
    counts with its last known log: the crash of a process loses nothing.
    """

    def __init__(self) -> None:
        self._committed: dict[PartitionKey, int] = {}

    def joined(self, broker_id: int, key: PartitionKey) -> None:
        """Compare the log end with everything committed so far."""
        end, committed = self.logs.seen.get((broker_id, key), Seen()).end, self._committed.get(key, 0)
        if end < committed and not self.is_lossy(key):
            raise self.violated(
                f"{self.place(broker_id, key)} is in sync now, its log ends at {end}, {committed} are committed"
            )

    def committed(self, broker_id: int, log: LogView, from_offset: int, to_offset: int) -> None:  # noqa: ARG002
        """Compare the log ends of the ISR with the high watermark."""
        key = log.key
        partition = self.logs.partition(key)
        if log.led_epoch is None or partition is None or self.is_lossy(key):
            return
        self._committed[key] = max(self._committed.get(key, 0), to_offset)
        for member in (*partition.isr, *partition.eligible_leader_replicas):
            end = self.logs.seen.get((member, key), Seen()).end
            if end < to_offset and member not in self.logs.suspects.get(key, ()):
                is_what = "in sync" if member in partition.isr else "eligible"
                raise self.violated(
                    f"{self.place(broker_id, key)} has high watermark {to_offset}, "
                    f"broker {member} is {is_what} and its log ends at {end}"
                )
