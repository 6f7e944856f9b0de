"""The page of a watch in Chromium: with hostile names, with many clusters, while findings change."""

from __future__ import annotations

import pytest
from tests.support.watched_clusters import (
    BEGIN_MS,
    HOSTILE,
    HOUR_MS,
    MadeWatch,
    made_event,
    made_findings,
    served_page,
    wait_for,
)

from falkirk.lift.journal import Entry
from falkirk.lift.journal import Journal as LiftJournal
from falkirk.watch.journal import Bookmark, Journal

PHONE = {"viewport": {"width": 390, "height": 844}}


def overflow(page):
    """Return by how many pixels the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@pytest.fixture
def served(tmp_path):
    """A page of a cluster with a journal and a lift, and of one with hostile names; yields address and watch."""
    LiftJournal(tmp_path / "lift").append(Entry(at_ms=BEGIN_MS, event="begun", step="join"))

    def make():
        journal = Journal(tmp_path / "watch.sqlite")
        events = [
            made_event("prod", "level_changed", None, BEGIN_MS - HOUR_MS, **{"from": "4.2-IV1", "to": "4.3-IV0"}),
            made_event("prod", "way_closed", "4.1", BEGIN_MS + HOUR_MS),
        ]
        journal.commit("prod", Bookmark(cluster_id="x", end_offset=1, known={}), events, {}, BEGIN_MS)
        journal.add_moment(made_findings(losses=1, at_ms=BEGIN_MS))
        journal.add_moment(made_findings(HOSTILE, group=HOSTILE))
        return MadeWatch(made_findings(), made_findings(HOSTILE, group=HOSTILE), journal=journal)

    with served_page(make, lifts={"prod": tmp_path / "lift"}) as (address, watch):
        yield address, watch


def test_one_goes_from_the_board_to_a_cluster_to_two_moments_and_back(served, pages):
    page = pages.open(served[0])
    page.get_by_role("link", name="prod", exact=True).click()
    page.get_by_role("heading", name="prod", level=1).wait_for()
    assert page.get_by_text("cordoned log directories").count() > 0
    page.get_by_role("link", name="Compare two moments").click()
    page.get_by_role("heading", name="Losses that appeared").wait_for()
    page.get_by_role("link", name="Clusters", exact=True).click()
    page.get_by_role("heading", name="Can we still go back?").wait_for()


def test_hostile_names_are_shown_and_do_nothing(served, pages):
    page = pages.open(served[0])
    page.on("dialog", lambda dialog: pages.faults.append(f"dialog: {dialog.message}"))
    page.get_by_role("link", name="<script>alert(1)</script>").first.click()
    page.locator("h1", has_text="<script>alert(1)</script>").wait_for()
    assert page.locator("#groups ~ .wide tbody th").first.text_content().startswith("<script>")
    page.get_by_role("link", name="Compare two moments").click()
    page.get_by_role("heading", name="<script>alert(1)</script>").wait_for()
    page.get_by_label("From").select_option(index=0)
    page.get_by_text("Nothing changed.").wait_for()


def test_what_changes_is_shown_without_loading_the_page_again(served, pages):
    address, watch = served
    page = pages.open(address)
    page.evaluate("window.loadedOnce = true")
    watch.publish(made_findings("prod", losses=4, at_ms=BEGIN_MS + 6 * HOUR_MS))
    page.get_by_role("link", name="would lose 4").first.wait_for()
    watch.publish(made_findings("added"))
    page.get_by_role("link", name="added", exact=True).wait_for()
    assert page.evaluate("window.loadedOnce")


def test_the_steps_of_a_running_lift_appear_as_they_are_taken(served, pages, tmp_path):
    page = pages.open(f"{served[0]}cluster?name=prod")
    page.get_by_role("heading", name="Lift: under way").wait_for()
    LiftJournal(tmp_path / "lift").append(Entry(at_ms=BEGIN_MS + 1, event="finished"))
    page.get_by_role("heading", name="Lift: over").wait_for()


def test_a_filter_stands_in_the_address_and_keeps_the_focus(served, pages):
    page = pages.open(f"{served[0]}cluster?name=prod")
    page.get_by_label("Text").fill("broker 1")
    page.get_by_text("1 of 2.").wait_for()
    assert "q=broker+1" in page.url
    assert page.evaluate("document.activeElement.name") == "q"
    again = pages.open(page.url)
    again.get_by_text("1 of 2.").wait_for()


def test_a_command_is_copied(served, pages):
    page = pages.open(f"{served[0]}cluster?name=prod", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").first.click()
    page.get_by_text("Copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").startswith("kafka-configs.sh")


def test_the_keyboard_reaches_the_content_first(served, pages):
    page = pages.open(served[0])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_every_field_has_a_label_and_every_picture_a_name(served, pages):
    for path in ("", "cluster?name=prod", "compare?name=prod"):
        page = pages.open(f"{served[0]}{path}")
        unnamed = page.evaluate(
            "[...document.querySelectorAll('input:not([type=hidden]),select')].filter(e => !e.labels.length).length"
        )
        assert unnamed == 0
        assert page.evaluate("[...document.querySelectorAll('svg')].every(e => e.querySelector('title'))")
        assert page.locator("main").count() == page.locator("h1").count() == 1


@pytest.mark.parametrize("path", ["", "cluster?name=prod", "compare?name=prod"])
def test_a_phone_shows_each_page_without_scrolling_sideways(served, pages, path):
    page = pages.open(f"{served[0]}{path}", **PHONE)
    assert overflow(page) <= 0
    for table in page.locator("table").all():
        assert table.evaluate("e => e.scrollWidth - e.parentElement.clientWidth") <= 0
        widths = table.evaluate("e => [...e.querySelectorAll('tbody td')].map(each => each.clientWidth)")
        assert min(widths) > 250, "no column of single letters"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_in_both_schemes(served, pages, scheme):
    page = pages.open(f"{served[0]}cluster?name=prod", color_scheme=scheme)
    ratios = page.evaluate(CONTRASTS)
    assert len(ratios) > 20
    assert min(ratios) >= 4.5


# The contrast of each element that has text with the nearest background (WCAG 2.1, 1.4.3).
CONTRASTS = """
() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = (color) => {
    const [r, g, b] = channels(color).slice(0, 3).map((each) => {
      const part = each / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const color = getComputedStyle(each).backgroundColor;
      if (channels(color)[3] !== 0) return color;
    }
    return "rgb(255, 255, 255)";
  };
  const ratios = [];
  for (const element of document.querySelectorAll("body *:not(script, svg, svg *, .skip)")) {
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
    const [one, other] = [light(getComputedStyle(element).color), light(background(element))];
    ratios.push((Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05));
  }
  return ratios;
}
"""


def test_two_hundred_clusters_are_searched(pages):
    watch = MadeWatch(*(made_findings(f"cluster-{number:03}", losses=number % 3) for number in range(200)))
    with served_page(lambda: watch) as (address, _):
        page = pages.open(address)
        assert page.locator("tbody tr").count() == 200
        page.get_by_label("Cluster", exact=True).fill("cluster-117")
        page.get_by_text("1 of 200 clusters").wait_for()
        assert page.locator("tbody tr").count() == 1
        assert overflow(page) <= 0
        pages.close()


def test_a_watch_that_is_gone_is_said(pages):
    with served_page(lambda: MadeWatch(made_findings())) as (address, _):
        page = pages.open(address)
        page.get_by_role("link", name="prod", exact=True).wait_for()
    page.get_by_text("what is shown may be old").wait_for()
    wait_for(lambda: pages.faults, 1.0)
    pages.faults.clear()


def test_one_signs_in_where_a_token_is_asked_for(pages):
    token = "sixteen characters!"  # noqa: S105 - it opens nothing
    with served_page(lambda: MadeWatch(made_findings()), token=token) as (address, _):
        page = pages.open(address)
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("That is not the token.").wait_for()
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name="prod", exact=True).wait_for()
        pages.close()
