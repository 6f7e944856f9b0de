"""Why a partition's log cannot be loaded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoadFailure:
    """The record that ends the load, and the reason."""

    offset: int
    reason: str
