"""A group, and what a release makes of it, as every front end reports it."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - msgspec reads the annotations when it decodes a ledger
from dataclasses import dataclass
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedGroup:
    """One group; the fields are those of its JSON.

    `verdict` is a value of GroupVerdict, `lost` has counts by LossKind, `detail` is a clause.
    """

    group: str
    type: str
    partition: int
    members: int
    committed_offsets: int
    pending_offsets: int
    verdict: str
    lost: Mapping[str, int]
    detail: str

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the object of a ledger."""
        document: dict[str, Any] = msgspec.to_builtins(self)  # Any: JSON values
        return document
