"""Events for the node's log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class RaftFact:
    """An event's name and its fields. `level`: debug, info, warning or error."""

    level: str
    event: str
    fields: "Mapping[str, object]" = field(default_factory=dict)
