"""Rows of cells padded on their right, as Java's `%-15s` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MISSING = "-"


def padded(cells: Iterable[object], widths: Sequence[int]) -> str:
    """Return one row; a width of 0 leaves a cell as it is, and None is a dash."""
    shown = (MISSING if cell is None else str(cell) for cell in cells)
    return " ".join(cell.ljust(width) for cell, width in zip(shown, widths, strict=True))


def width(least: int, cells: Iterable[object]) -> int:
    """Return the width of a column: that of the widest cell, at least `least`."""
    return max([least, *(len(str(cell)) for cell in cells if cell is not None)])
