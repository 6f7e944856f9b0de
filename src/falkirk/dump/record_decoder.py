"""What stands in the records of a log, as each decoder of the dump tool says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from falkirk.dump.java_text import java_string

if TYPE_CHECKING:
    import msgspec

    from falkirk.protocol.record import Record


@dataclass(frozen=True, slots=True)
class RecordText:
    """Key and payload as the tool prints them; None where it prints none."""

    key: str | None
    payload: str | None


@dataclass(frozen=True, slots=True)
class DecodedRecord:
    """A record as JSON; `error` says, in Kafka's words, why there is none."""

    json: msgspec.Raw | None
    error: str | None = None


class RecordDecoder(Protocol):
    """Decodes the records of one kind of log."""

    def text(self, record: Record) -> RecordText:
        """Give what the tool prints. Raises UndecodableRecordError where the tool itself ends."""
        ...

    def document(self, record: Record) -> DecodedRecord | None:
        """Give the record as JSON; None if key and value are to be shown as they are."""
        ...


class UndecodableRecordError(Exception):
    """A record on which the tool itself ends, with a stack trace; the text is one clause for an operator."""


class StringDecoder:
    """Keys and values are UTF-8."""

    def text(self, record: Record) -> RecordText:
        """Give both as they are."""
        key, value = record.key, record.value
        return RecordText(
            None if key is None else java_string(key),
            None if value is None else java_string(value),
        )

    def document(self, record: Record) -> None:
        """Leave key and value to be shown as they are."""
