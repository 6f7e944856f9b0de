"""The last records about groups, one for each key, read whichever release wrote them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.prediction.group_survey import key_group, key_type
from falkirk.coordinator.prediction.readability import RecordReader
from falkirk.coordinator.records.record_type import OFFSET_TYPES
from falkirk.protocol.coordinator_record import decode_value
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.lax_reader import ReadError
from falkirk.protocol.messages import GROUP_COORDINATOR_VALUES, message_class
from falkirk.versions.release import latest_release

if TYPE_CHECKING:
    from falkirk.protocol.lax_reader import Fields
    from falkirk.protocol.schema import WireMessage

_READER: Final = RecordReader(latest_release(), latest_release().kraft.group_records)


@dataclass(frozen=True, slots=True)
class LastRecord:
    """A record that no later one of its key has replaced or deleted."""

    type: int
    key: bytes
    value: bytes

    @property
    def member_id(self) -> str:
        """Member named by the key; empty if it names none."""
        try:
            member_id: str = _READER.decode_key(self.key)[1].get("member_id", "")
        except ReadError:
            return ""
        return member_id

    @property
    def fields(self) -> Fields | None:
        """Fields of the value as the newest release's coordinator reads them; None if it refuses."""
        try:
            return _READER.decode_value(self.type, self.value)
        except ReadError:
            return None

    @property
    def message(self) -> WireMessage | None:
        """The value in the newest of its layouts that it fits to the last byte; None if it fits none."""
        layouts = message_class(GROUP_COORDINATOR_VALUES[self.type]).SCHEMA.info.layouts
        for layout in reversed(range(layouts)):
            try:
                return decode_value(GROUP_COORDINATOR_VALUES, self.type, self.value, layout=layout)[0]
            except RemoteProtocolError:
                continue
        return None


class LastRecords:
    """Collects records in log order and keeps the last of each key."""

    def __init__(self) -> None:
        # Group -> key -> record, the one written last at the end.
        self._groups: dict[str, dict[bytes, LastRecord]] = {}

    def add(self, key: bytes | None, value: bytes | None) -> None:
        """Add a record; offsets, and records without a group's key, are not kept."""
        type_, group_id = key_type(key), key_group(key)
        if key is None or type_ is None or group_id is None or type_ in OFFSET_TYPES:
            return
        records = self._groups.setdefault(group_id, {})
        records.pop(key, None)
        if value is not None:
            records[key] = LastRecord(type_, key, value)

    def of(self, group_id: str) -> list[LastRecord]:
        """Return the remaining records of a group, the last written at the end."""
        return list(self._groups.get(group_id, {}).values())
