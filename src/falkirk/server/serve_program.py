"""`falkirk serve` as a program that other commands start: its command line, and the last line of its log."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

# How much of the end of a log is read for its last line.
_LAST_BYTES: Final = 8 * 1024


def serve_command(properties: Path, release: str) -> list[str]:
    """Return the command line that runs a node of this server.properties with this interpreter."""
    return [sys.executable, "-m", "falkirk", "serve", str(properties), "--release", release]


def last_line(log: Path, *, since: int = 0) -> str:
    """Return the last line of a log behind an offset, or `nothing`. Raises OSError."""
    with log.open("rb") as file:
        file.seek(max(since, file.seek(0, os.SEEK_END) - _LAST_BYTES))
        lines = file.read().decode(errors="replace").splitlines()
    return lines[-1] if lines else "nothing"
