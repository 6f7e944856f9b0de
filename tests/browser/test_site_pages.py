"""The site of docs/ in a browser: found by search without a server, and versions to choose from where there is one."""

import functools
import http.server
import json
import threading

import pytest
from played_pages import ROOT

from make_site import build


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    made = tmp_path_factory.mktemp("site")
    build(ROOT, made / "development")
    versions = [{"version": name, "title": name, "aliases": []} for name in ("0.2.0", "development")]
    (made / "versions.json").write_text(json.dumps(versions))
    return made


@pytest.fixture
def server(site):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_arguments):
            """Print nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()
        thread.join()


def search(page, words):
    page.locator("input.md-search__input").press_sequentially(words)
    page.locator(".md-search-result__item h1, .md-search-result__item h2").first.wait_for()
    return page.locator(".md-search-result__item a").first.get_attribute("href")


def test_a_page_is_found_by_its_words_where_the_site_was_opened_from_a_folder(site, pages):
    page = pages.open((site / "development" / "index.html").as_uri())
    assert "runbooks/rescue.html" in search(page, "rescue older binaries")
    # There is no menu of versions: a page from a folder may not read versions.json, and the browser says so.
    refused = ("versions.json", "Failed to load resource: net::ERR_FAILED")
    pages.faults[:] = [fault for fault in pages.faults if not any(text in fault for text in refused)]


def test_a_server_shows_the_versions_and_searches_too(server, pages):
    page = pages.open(f"{server}/development/index.html")
    assert "runbooks/rescue.html" in search(page, "rescue older binaries")
    page.keyboard.press("Escape")
    assert page.locator(".md-version__link").all_text_contents() == ["0.2.0", "development"]
