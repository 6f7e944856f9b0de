"""The pages of a report: HTML that needs nothing beside it. Styles, the script and plots are inside."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ROWS_OPEN: Final = 15
"""Tables with more rows are folded, except for the first of the page."""
_LONG: Final = 40
_SHORT: Final = 17
"""Characters of texts: longer ones may be broken anywhere, shorter ones nowhere."""
_EMPTY: Final = "–"  # noqa: RUF001 - a dash, as in a printed table
_PACKAGE: Final = "falkirk.pipeline.reports"


@dataclass(frozen=True, slots=True)
class Link:
    """A cell that leads to another page; `address` is relative to this one, and quoted."""

    text: str
    address: str


@dataclass(frozen=True, slots=True)
class Badge:
    """A cell with a verdict: `word` is also the class of its colour."""

    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a page: title, text, a plot, and rows of a table, of which `rows_in_all` may exceed those shown.

    `name` is its anchor. `files` are links to all rows. Readers choose rows by values of the columns `chosen_by`.
    """

    name: str
    title: str
    text: str
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()  # Any: values of columns
    rows_in_all: int = 0
    plot: str | None = None
    # HTML of our own, in the place of a table.
    prose: str | None = None
    files: Sequence[Link] = ()
    chosen_by: Sequence[str] = ()
    # Shown if there are no rows.
    nothing: str = "Nothing."


@dataclass(frozen=True, slots=True)
class Card:
    """A number at the top of a page, what it counts, and the verdict whose clusters it leads to."""

    number: int
    text: str
    verdict: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A whole page. `facts` are pairs of a term and its values; `back` leads to the page above."""

    title: str
    headline: str
    made: str
    sections: Sequence[Section]
    cards: Sequence[Card] = ()
    facts: Sequence[tuple[str, Any]] = ()  # Any: as in a cell
    badge: Badge | None = None
    back: Link | None = None


def render_page(page: Page) -> str:
    """Return the page; every text from a cluster is escaped."""
    return _templates().get_template("page.html.j2").render(page=page, rows_open=_ROWS_OPEN)


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


def _shown(value: Any) -> Markup:  # Any: same, or a link or a badge
    if isinstance(value, Link):
        return Markup('<a href="{}">{}</a>').format(value.address, value.text)
    if isinstance(value, Badge):
        return Markup('<span class="badge {0}">{0}</span>').format(value.word)
    return escape(_cell(value))


def _table_row(values: Sequence[Any]) -> Markup:  # Any: same
    # Pages have some hundred thousand cells, and a template takes ten times as long for each.
    cells = (f"<td{_class_of(value)}>{_shown(value)}</td>" for value in values)
    return Markup(f"<tr>{''.join(cells)}</tr>")  # noqa: S704 - made of constants and what is escaped


def _class_of(value: Any) -> str:  # Any: same
    if _is_number(value):
        return ' class="number"'
    if isinstance(value, str) and len(value) > _LONG:
        return ' class="long"'
    return ' class="short"' if isinstance(value, str) and len(value) < _SHORT else ""


def _is_number(value: Any) -> bool:  # Any: same
    return isinstance(value, int | float) and not isinstance(value, bool)


@functools.cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader(_PACKAGE, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["cell"] = _cell
    environment.tests["numeric"] = _is_number
    environment.filters["shown"] = _shown
    environment.filters["table_row"] = _table_row
    environment.globals.update(_inlined())
    return environment


def _inlined() -> Mapping[str, str]:
    folder = resources.files(_PACKAGE) / "templates"
    return {name: (folder / file).read_text("utf-8") for name, file in (("style", "page.css"), ("script", "page.js"))}
