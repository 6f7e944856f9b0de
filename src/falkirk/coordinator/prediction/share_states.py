"""The share partitions that the records of `__share_group_state` have delivery state of (KIP-932).

It is out of use below share.version 1: start offsets, and which records in between were acknowledged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.log_entry import LoggedRecord
from falkirk.coordinator.prediction.kafka_reader import ReadError
from falkirk.coordinator.prediction.readability import RecordReader, UnknownTypeError
from falkirk.versions.release import latest_release

if TYPE_CHECKING:
    from falkirk.coordinator.log_entry import LogEntry


class ShareStateSurvey:
    """Takes the entries of a partition in log order. Values are not opened: a key says whose state it is."""

    def __init__(self) -> None:
        self._reader = RecordReader(latest_release(), latest_release().kraft.share_records)
        # Group -> topic's id and partition.
        self._states: dict[str, set[tuple[bytes, int]]] = {}

    def add(self, entry: LogEntry) -> None:
        """Take an entry; a key that does not parse tells nothing."""
        if not isinstance(entry, LoggedRecord):
            return
        try:
            type_, key = self._reader.decode_key(entry.key)
        except (ReadError, UnknownTypeError):
            return
        states = self._states.setdefault(key["group_id"], set())
        position = key["topic_id"], key["partition"]
        if entry.value is not None:
            states.add(position)
        elif type_ == _SNAPSHOT:
            states.discard(position)

    def partitions(self) -> dict[str, int]:
        """Give by group how many share partitions have state; groups without any are not there."""
        return {group_id: len(states) for group_id, states in sorted(self._states.items()) if states}


# The type whose tombstone ends a state; the other one adds to it.
_SNAPSHOT: Final = 0
