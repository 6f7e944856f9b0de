"""Counts partition states that runs must reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.data_checker import DataChecker

if TYPE_CHECKING:
    from falkirk.simulation.views.cluster_logs import Seen
    from falkirk.simulation.views.log_view import LogView
    from falkirk.simulation.views.marks import Marks


class DataMarks(DataChecker):
    """A data checker that only counts."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks

    def changed(self, broker_id: int, log: LogView, before: Seen, now: Seen) -> None:  # noqa: ARG002
        """Count truncations by followers, and rises of the log start offset."""
        if now.end < before.end:
            self._marks.add("replica cut off its log")
        if now.start > before.start:
            self._marks.add("records deleted")

    def committed(self, broker_id: int, log: LogView, from_offset: int, to_offset: int) -> None:  # noqa: ARG002
        """Count commits while a replica is missing, and reads of a replica in the directory it was moved to."""
        partition = self.logs.partition(log.key)
        if partition is None or log.led_epoch is None:
            return
        if len(partition.isr) < len(partition.replicas):
            self._marks.add("committed with a replica out of sync")
        if partition.adding_replicas:
            self._marks.add("committed while replicas are moved")

    def leads(self, broker_id: int, log: LogView) -> None:  # noqa: ARG002
        """Count new leaders."""
        self._marks.add("leader of a partition elected")
