"""PartitionHighWatermarks: a leader's high watermark never falls while it leads, and no replica loses what is below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.data_checker import DataChecker

if TYPE_CHECKING:
    from falkirk.simulation.log_view import LogView
    from falkirk.simulation.log_watch import Seen


class PartitionHighWatermarks(DataChecker):
    """It lies between the log's start and its end, and the log's start never falls."""

    def changed(self, broker_id: int, log: LogView, before: Seen, now: Seen) -> None:
        """Compare with the step before."""
        if not now.start <= now.high_watermark <= now.end:
            raise self.violated(
                f"{self.place(broker_id, log.key)} begins at {now.start}, has high watermark {now.high_watermark} "
                f"and ends at {now.end}"
            )
        if self.is_lossy(log.key):
            return
        if now.led_epoch is not None and now.led_epoch == before.led_epoch:
            fell = now.high_watermark < before.high_watermark
            if fell or now.start < before.start:
                raise self.violated(
                    f"{self.place(broker_id, log.key)}, which leads epoch {now.led_epoch}, goes from high watermark "
                    f"{before.high_watermark} back to {now.high_watermark}, or from log start {before.start} "
                    f"to {now.start}"
                )
        # A log that begins behind its old end was begun anew: the leader has deleted what it lacked.
        if now.end < before.high_watermark:
            raise self.violated(
                f"{self.place(broker_id, log.key)} is cut off at {now.end}, its high watermark was "
                f"{before.high_watermark}"
            )
