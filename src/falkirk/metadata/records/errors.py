"""Errors of metadata records: they do not decode, or contradict the records before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.metadata.records.record_key import ObjectKey


class MetadataError(Exception):
    """Base of the metadata layer's own errors; the text is one line for an operator."""


class RecordError(MetadataError):
    """A record that cannot be replayed. `offset` and `source` are None until `locate` sets them."""

    def __init__(self, record: str, reason: str, *, key: ObjectKey | None = None) -> None:
        self.record = record
        self.reason = reason
        self.key = key
        self.offset: int | None = None
        self.source: str | None = None
        super().__init__(record, reason)

    def locate(self, offset: int, source: str | None) -> None:
        """Set offset and source, unless they are set already."""
        if self.offset is None:
            self.offset, self.source = offset, source

    def __str__(self) -> str:
        """Return one line: record, place, fault."""
        where = "" if self.offset is None else f" at offset {self.offset}"
        where += f" of {self.source}" if self.source else ""
        about = f" ({self.key.text()})" if self.key is not None else ""
        return f"{self.record}{where}{about}: {self.reason}"


class InconsistentRecordError(RecordError):
    """A record that contradicts the image: a change of an unknown partition, an impossible value."""


class UnreadableRecordError(RecordError):
    """Bytes that are no metadata record of any release up to 4.4; `record` is its type where that can be read."""


class UnwritableLevelError(MetadataError):
    """A metadata.version at which no image can be written."""
