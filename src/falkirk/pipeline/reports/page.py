"""The report as one self-contained page of HTML: no scripts, styles and plots inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROWS_OPEN: Final = 15
"""Tables with more rows are folded, except for the first of the page."""
_EMPTY: Final = "–"  # noqa: RUF001 - a dash, as in a printed table
_TEMPLATES: Final = Environment(
    loader=PackageLoader("falkirk.pipeline.reports", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the page: title, text, a plot, and rows of a table, of which `rows_in_all` may exceed those shown."""

    title: str
    text: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]  # Any: values of columns
    rows_in_all: int
    plot: str | None = None
    # Shown if there are no rows.
    nothing: str = "Nothing."


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The whole page. `cards` are the numbers at its top: (number, what it counts, class of its colour)."""

    title: str
    headline: str
    made: str
    cards: Sequence[tuple[int, str, str]]
    sections: Sequence[Section]


def render_page(page: Page) -> str:
    """Return the page; every text from a cluster is escaped."""
    return _TEMPLATES.get_template("report.html.j2").render(page=page, rows_open=_ROWS_OPEN)


def _cell(value: Any) -> str:  # Any: a value of a column
    if value is None or value == "":
        return _EMPTY
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(_cell(each) for each in value) or _EMPTY
    return str(value)


def _is_number(value: Any) -> bool:  # Any: same
    return isinstance(value, int | float) and not isinstance(value, bool)


_TEMPLATES.filters["cell"] = _cell
_TEMPLATES.tests["numeric"] = _is_number
