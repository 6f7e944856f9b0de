"""Debian's Chromium for the tests of pages: one for each process, a context of its own for each test.

The browser keeps this thread's event loop, so a server that a test starts runs in a thread or a process of its own.
"""

from __future__ import annotations

import shutil
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

MISSING = "no chromium on the PATH: install Debian's package `chromium` (apt-get install chromium)"
# A page may load from the disk, from its own text and from servers that a test starts.
OWN_SCHEMES = ("about", "blob", "data", "file")
OWN_HOSTS = ("127.0.0.1", "localhost")


def is_own(url: str) -> bool:
    """True if the page stays on this machine with it."""
    parts = urlsplit(url)
    return parts.scheme in OWN_SCHEMES or parts.hostname in OWN_HOSTS


@pytest.fixture(scope="session")
def browser():
    program = shutil.which("chromium")
    if program is None:
        pytest.fail(MISSING)
    with sync_playwright() as playwright:
        # Chromium's sandbox does not start as root, and the pages are ours.
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Pages:
    """Opens pages, and collects what none of them may do."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts = []
        self.faults: list[str] = []

    def open(self, url: str, **settings) -> Page:
        """Open `url` in a new context; `settings` are those of a context (viewport, color_scheme, ...)."""
        context = self._browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
        self._contexts.append(context)
        context.route(lambda of: not is_own(of), self._refuse)
        context.on("weberror", lambda error: self.faults.append(f"error: {error.error}"))
        context.on("console", self._hear)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.goto(url)
        return page

    def close(self) -> None:
        """Close all of them."""
        for context in self._contexts:
            context.close()

    def _refuse(self, route) -> None:
        self.faults.append(f"asks the network: {route.request.url}")
        route.abort()

    def _hear(self, message) -> None:
        if message.type == "error":
            self.faults.append(f"console: {message.text}")


@pytest.fixture
def pages(browser):
    """Open pages by `pages.open(url)`; the test fails if one raised an error or asked the network for anything.

    A test that provokes such faults removes them from `pages.faults`.
    """
    opened = Pages(browser)
    yield opened
    opened.close()
    assert opened.faults == []
