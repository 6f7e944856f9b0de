"""States of partitions that runs must reach, counted as the checkers of data are told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.data_checker import DataChecker

if TYPE_CHECKING:
    from falkirk.simulation.log_view import LogView
    from falkirk.simulation.log_watch import Seen
    from falkirk.simulation.marks import Marks


class DataMarks(DataChecker):
    """Checks nothing."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks

    def changed(self, broker_id: int, log: LogView, before: Seen, now: Seen) -> None:  # noqa: ARG002
        """Count what followers cut off, and what is deleted at the start."""
        if now.end < before.end:
            self._marks.add("replica cut off its log")
        if now.start > before.start:
            self._marks.add("records deleted")

    def committed(self, broker_id: int, log: LogView, from_offset: int, to_offset: int) -> None:  # noqa: ARG002
        """Count what is committed while a replica is missing, or is read where it was moved to."""
        partition = self.watch.partition(log.key)
        if partition is None or log.led_epoch is None:
            return
        if len(partition.isr) < len(partition.replicas):
            self._marks.add("committed with a replica out of sync")
        if partition.adding_replicas:
            self._marks.add("committed while replicas are moved")

    def leads(self, broker_id: int, log: LogView) -> None:  # noqa: ARG002
        """Count leaders."""
        self._marks.add("leader of a partition elected")
