"""The runbook of blockers as a page, so that a report carries it along."""

from __future__ import annotations

from importlib import resources
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from markdown_it import MarkdownIt

from falkirk.pipeline.reports.page import Page, Section, render_page
from falkirk.pipeline.reports.words import BLOCKERS, blocker_title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.pipeline.reports.page import Link

_FILE: Final = "blockers.txt"
"""A copy of docs/runbooks/blockers.md: `make docs` makes it."""


def render_runbook(back: Link) -> str:
    """Return the page: a section for each kind of blocker that a fleet may have, which is its anchor."""
    sections = [
        Section(name=kind, title=blocker_title(kind), text=f"In JSON: {kind}.", prose=prose)
        for kind, prose in _parts()
        if kind in BLOCKERS
    ]
    title = "Runbook: what is in the way"
    return render_page(
        Page(title=title, headline="What to do about each blocker.", made="", back=back, sections=sections)
    )


def _parts() -> Iterator[tuple[str, str]]:
    """Yield each section of the runbook: the kind that its heading names, and HTML without links to other documents."""
    text = (resources.files("falkirk.pipeline.reports") / "templates" / _FILE).read_text("utf-8")
    markdown = MarkdownIt()
    tokens = markdown.parse(text)
    for token in tokens:
        if token.children:
            token.children = [child for child in token.children if child.type not in {"link_open", "link_close"}]
    starts = [index for index, token in enumerate(tokens) if token.type == "heading_open" and token.tag == "h2"]
    for start, end in pairwise([*starts, len(tokens)]):
        kind = tokens[start + 1].content.strip("`")
        # A heading is three tokens.
        yield kind, markdown.renderer.render(tokens[start + 3 : end], markdown.options, {})
