"""InSyncReplicasHaveCommitted: who may lead next has all that is committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.data_checker import DataChecker
from falkirk.simulation.log_watch import Seen

if TYPE_CHECKING:
    from falkirk.simulation.log_view import LogView


class InSyncReplicasHaveCommitted(DataChecker):
    """When a leader raises the high watermark, every replica that the controllers call in sync has its log up to there.

    A broker that is down counts with what it had: the crash of a process takes nothing away.
    """

    def committed(self, broker_id: int, log: LogView, from_offset: int, to_offset: int) -> None:  # noqa: ARG002
        """Compare the ends of the logs with the high watermark."""
        key = log.key
        partition = self.watch.partition(key)
        if log.led_epoch is None or partition is None or self.is_lossy(key):
            return
        for member in partition.isr:
            end = self.watch.seen.get((member, key), Seen()).end
            if end < to_offset and member not in self.watch.suspects.get(key, ()):
                raise self.violated(
                    f"{self.place(broker_id, key)} has high watermark {to_offset}, "
                    f"broker {member} is in sync and its log ends at {end}"
                )
