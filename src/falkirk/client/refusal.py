"""The error of one part of a request whose other parts were served."""

from __future__ import annotations

from dataclasses import dataclass

from falkirk.protocol.error_codes import error_name


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error for one group, partition or topic. `message` is the node's; None if it sent none."""

    error_code: int
    message: str | None = None

    def __str__(self) -> str:
        """Return one line for an operator."""
        name = error_name(self.error_code)
        return f"{name}: {self.message}" if self.message else name
