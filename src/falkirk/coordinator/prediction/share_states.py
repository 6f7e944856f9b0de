"""The share partitions that have delivery state in `__share_group_state` (KIP-932).

Below share.version 1 that state is unused: start offsets, and which records were acknowledged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.prediction.readability import RecordReader, UnknownTypeError
from falkirk.coordinator.records.log_entry import LoggedRecord
from falkirk.protocol.lax_reader import ReadError
from falkirk.versions.release import latest_release

if TYPE_CHECKING:
    from falkirk.coordinator.records.log_entry import LogEntry


# The type whose tombstone ends a state; the other one adds to it.
_SNAPSHOT: Final = 0


class ShareStateSurvey:
    """Reads the entries of a partition in log order. Values are not decoded: keys name the share partition."""

    def __init__(self) -> None:
        self._reader = RecordReader(latest_release(), latest_release().kraft.share_records)
        # Group -> topic's id and partition.
        self._states: dict[str, set[tuple[bytes, int]]] = {}

    def add(self, entry: LogEntry) -> None:
        """Add an entry; keys that do not parse are ignored."""
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
        """Return the number of share partitions with state by group; groups without any are left out."""
        return {group_id: len(states) for group_id, states in sorted(self._states.items()) if states}
