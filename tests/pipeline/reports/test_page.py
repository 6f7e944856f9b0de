from html.parser import HTMLParser

from falkirk.pipeline.reports.page import Page, Section, render_page


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.cells, self.tags, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in {"td", "th"}:
            self.cells.append(data)


def page(*sections):
    return Page(title="t", headline="h", made="m", cards=[(1200, "clusters", "clear")], sections=sections)


def read(text):
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    return reader


def section(**fields):
    return Section(**{"title": "Losses", "text": "x", "columns": [], "rows": [], "rows_in_all": 0} | fields)


def test_rows_become_cells_that_people_read():
    found = read(
        render_page(page(section(columns=["a", "b", "c", "d", "e"], rows=[["clear", 1234, None, True, [1, 2]]])))
    )
    assert found.cells == ["a", "b", "c", "d", "e", "clear", "1,234", "–", "yes", "1, 2"]  # noqa: RUF001 - a dash
    assert ("tr", {"class": "clear"}) in found.tags


def test_what_comes_from_a_cluster_is_never_markup():
    text = render_page(page(section(columns=["a"], rows=[["<script>alert(1)</script>"]])))
    found = read(text)
    assert [tag for tag, _ in found.tags if tag == "script"] == []
    assert "".join(found.cells) == "a<script>alert(1)</script>"


def test_rows_that_are_left_out_are_told():
    assert "2 of 1,000 rows" in render_page(page(section(columns=["a"], rows=[["x"], ["y"]], rows_in_all=1000)))
    assert "of 2 rows" not in render_page(page(section(columns=["a"], rows=[["x"], ["y"]], rows_in_all=2)))


def test_a_section_without_rows_says_so():
    assert "Nobody." in render_page(page(section(nothing="Nobody.")))


def test_long_tables_are_folded_all_but_the_first():
    rows = [[number] for number in range(40)]
    long = section(columns=["a"], rows=rows, rows_in_all=40)
    found = read(render_page(page(long, long)))
    assert len([tag for tag, _ in found.tags if tag == "details"]) == 1
    assert found.cells.count("39") == 2
