"""The contents of a log's records, as each decoder of the dump tool prints them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from falkirk.protocol.lax_reader import decoded

if TYPE_CHECKING:
    import msgspec

    from falkirk.protocol.record import Record


@dataclass(frozen=True, slots=True)
class RecordText:
    """Key and payload as the tool prints them; None if it prints none."""

    key: str | None
    payload: str | None


@dataclass(frozen=True, slots=True)
class DecodedRecord:
    """A record as JSON, or the `error` for which there is none."""

    json: "msgspec.Raw | None"
    error: str | None = None


class RecordDecoder(Protocol):
    """Decodes the records of one kind of log."""

    def text(self, record: Record) -> RecordText:
        """Return the text that the tool prints. Raises UndecodableRecordError where the tool itself ends."""
        ...

    def document(self, record: Record) -> DecodedRecord | None:
        """Return the record as JSON; None to show key and value as they are."""
        ...


class UndecodableRecordError(Exception):
    """A record on which the tool itself ends, with a stack trace; the text is one clause for an operator."""


class StringDecoder:
    """Keys and values are UTF-8."""

    def text(self, record: Record) -> RecordText:
        """Return both as they are."""
        key, value = record.key, record.value
        return RecordText(
            None if key is None else decoded(key),
            None if value is None else decoded(value),
        )

    def document(self, record: Record) -> None:
        """Return None: key and value are shown as they are."""
