"""The fixture `pages` itself: what a page must not do is seen."""


def _file(tmp_path, body):
    path = tmp_path / "page.html"
    path.write_text(f"<!doctype html><title>A page</title>{body}")
    return path.as_uri()


def test_a_page_of_its_own_has_no_faults(pages, tmp_path):
    page = pages.open(_file(tmp_path, "<h1>Here</h1><script>document.title = 'Run'</script>"))
    assert page.title() == "Run"
    assert page.get_by_role("heading").inner_text() == "Here"


def test_a_page_that_asks_the_network_is_caught(pages, tmp_path):
    pages.open(_file(tmp_path, "<img src='https://example.com/a.png'>"))
    assert "asks the network: https://example.com/a.png" in pages.faults
    pages.faults.clear()


def test_errors_of_a_page_are_caught(pages, tmp_path):
    page = pages.open(_file(tmp_path, "<script>console.error('bad'); throw new Error('worse')</script>"))
    page.wait_for_timeout(100)
    assert sorted(pages.faults) == ["console: bad", "error: worse"]
    pages.faults.clear()
