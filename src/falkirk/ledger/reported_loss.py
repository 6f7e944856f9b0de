"""A loss as every front end reports it."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - msgspec reads the annotations when it decodes a ledger
from dataclasses import dataclass
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedLoss:
    """One thing that one object loses; the fields are those of its JSON.

    `key` is the object as a phrase, `key_fields` by its parts. `record` is the type of the record that holds what is
    lost, `offset` and `source` (a file) where it was written last, None if that is not known. `before` and `after` are
    without secrets; `after` is None if nothing is left. `detail` is the sentence, which may begin with the key.
    """

    kind: str
    key: str
    key_fields: Mapping[str, Any]  # Any: JSON values
    record: str
    offset: int | None
    source: str | None
    before: Mapping[str, Any]  # Any: JSON values
    after: Mapping[str, Any] | None  # Any: JSON values
    detail: str

    @property
    def meaning(self) -> str:
        """The sentence without the object in front."""
        return self.detail.removeprefix(self.key).lstrip(": ")

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the object of a ledger."""
        document: dict[str, Any] = msgspec.to_builtins(self)  # Any: JSON values
        return document
