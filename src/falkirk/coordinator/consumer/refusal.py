"""The refusal of a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.protocol.error_codes import ErrorCode


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error code with Kafka's message."""

    error_code: "ErrorCode"
    message: str
