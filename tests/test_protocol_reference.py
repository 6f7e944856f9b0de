"""The protocol reference is fresh, complete, and marks what is deprecated (KIP-35)."""

import re

import pytest

import document_protocol
from falkirk.protocol.messages import REQUESTS, message_class
from falkirk.versions.release import all_releases

PAGES = document_protocol.documents()
FOLDER = document_protocol.FOLDER


def rows_of(page: str) -> list[list[str]]:
    """Return the cells of every row of every table."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]


def test_the_pages_are_fresh():
    assert {path.name for path in FOLDER.iterdir()} == PAGES.keys()
    stale = [name for name, text in PAGES.items() if (FOLDER / name).read_text() != text]
    assert stale == [], "run `make docs`"


def test_every_api_that_a_release_has_is_told_with_its_versions():
    overview = {row[0]: row for row in rows_of(PAGES["README.md"])}
    releases = overview["key"][2:]
    for release in all_releases():
        for key, api in release.apis.items():
            if key not in REQUESTS:
                continue
            text = PAGES[document_protocol.page_name(key)]
            assert api.versions is None or f"| {api.versions}" in text, (release, key)
            if release.word in releases and api.stable_versions:
                cell = overview[str(key)][2 + releases.index(release.word)]
                assert cell.split()[0] == str(api.stable_versions)


@pytest.mark.parametrize(
    ("page", "row"), [("01-Fetch.md", ["3.9", "0-17", "0-3"]), ("00-Produce.md", ["3.9", "0-11", "0-2"])]
)
def test_deprecated_versions_are_marked(page, row):
    assert row in [found[:3] for found in rows_of(PAGES[page])]


def test_an_overview_marks_them_too():
    fetch = next(row for row in rows_of(PAGES["README.md"]) if row[0] == "1")
    assert fetch[4] == "0-17 ~0-3"
    assert "~" not in fetch[5]


def test_every_field_has_its_row():
    for key, name in REQUESTS.items():
        text = PAGES.get(document_protocol.page_name(key))
        if text is None:
            continue
        for field in message_class(name).SCHEMA.fields:
            assert any(row[0] == field.name and row[2] == str(field.versions) for row in rows_of(text)), (
                name,
                field.name,
            )


def test_links_lead_to_pages():
    for name in re.findall(r"\]\(([^)]+)\)", PAGES["README.md"]):
        assert name in PAGES


def test_versions_that_are_reported_and_not_served_are_marked():
    assert ["4.0", "3-12, in ApiVersions 0-12: 0-2 must not be used"] in [
        row[:2] for row in rows_of(PAGES["00-Produce.md"])
    ]
    produce = next(row for row in rows_of(PAGES["README.md"]) if row[0] == "0")
    assert (produce[4], produce[5]) == ("0-11 ~0-2", "3-12 !0-2")


def test_an_api_that_falkirk_does_not_offer_says_why():
    page = PAGES["76-ShareGroupHeartbeat.md"]
    assert "On a broker's listener falkirk does not offer it: the broker role coordinates no share" in page
