"""What can be wrong with the metadata: records that do not decode, or do not fit what was there before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.metadata.record_key import ObjectKey


class MetadataError(Exception):
    """Base of everything that the metadata layer raises on purpose; its text is one line for an operator."""


class RecordError(MetadataError):
    """A record that cannot be taken in. `offset` and `source` say where it stands, once the loader has told."""

    def __init__(self, record: str, reason: str, *, key: ObjectKey | None = None) -> None:
        self.record = record
        self.reason = reason
        self.key = key
        self.offset: int | None = None
        self.source: str | None = None
        super().__init__(record, reason)

    def locate(self, offset: int, source: str | None) -> None:
        """Say where the record stands, if nobody has yet."""
        if self.offset is None:
            self.offset, self.source = offset, source

    def __str__(self) -> str:
        """Give one line: which record, where, what is wrong."""
        where = "" if self.offset is None else f" at offset {self.offset}"
        where += f" of {self.source}" if self.source else ""
        about = f" ({self.key.text()})" if self.key is not None else ""
        return f"{self.record}{where}{about}: {self.reason}"


class InconsistentRecordError(RecordError):
    """A record that contradicts the image: a change of an unknown partition, an impossible value."""


class UnreadableRecordError(RecordError):
    """Bytes that are no metadata record of any release up to 4.4; `record` names its type where that can be read."""


class UnwritableLevelError(MetadataError):
    """A metadata.version at which no image can be written."""
