"""The result of a command that has one sentence to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceView:
    """A `Result` of one sentence, and its fields."""

    sentence: str
    fields: Mapping[str, Any]  # Any: JSON values

    def text(self) -> Iterator[str]:
        """Yield the sentence."""
        yield self.sentence

    def document(self) -> Mapping[str, Any]:  # Any: a JSON document
        """Return the fields."""
        return self.fields
