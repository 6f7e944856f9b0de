from html.parser import HTMLParser

from falkirk.pipeline.reports.page import Badge, Card, Link, Page, Section, render_page

VOID = {"meta", "br", "img"}


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.cells, self.tags, self.open, self.texts = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.cells.append(data)
        self.texts.append(data)


def page(*sections, **fields):
    settings = {"title": "t", "headline": "h", "made": "m", "cards": [Card(1200, "clusters", "clear")]}
    return Page(**settings | fields, sections=sections)


def read(text):
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    return reader


def section(**fields):
    settings = {"name": "losses", "title": "Losses", "text": "x", "columns": [], "rows": [], "rows_in_all": 0}
    return Section(**settings | fields)


def test_rows_become_cells_that_people_read():
    row = [Badge("clear"), Link("orders", "clusters/orders.html"), 1234, None, True, [1, 2]]
    found = read(render_page(page(section(columns=["a", "b", "c", "d", "e", "f"], rows=[row]))))
    assert found.cells == [*"abcdef", "clear", "orders", "1,234", "–", "yes", "1, 2"]  # noqa: RUF001 - a dash
    assert ("span", {"class": "badge clear"}) in found.tags
    assert ("a", {"href": "clusters/orders.html"}) in found.tags


def test_what_comes_from_a_cluster_is_never_markup():
    name = "<script>alert(1)</script>\"'><img src=x>"
    given = section(columns=[name], rows=[[name], [Link(name, "a.html")]], text=name, chosen_by=[name])
    text = render_page(page(given, title=name, headline=name, facts=[(name, name)], badge=Badge("clear")))
    found = read(text)
    assert [tag for tag, _ in found.tags if tag in {"script", "img"}] == ["script"]
    assert "".join(found.cells) == name * 3
    assert found.texts.count(name) >= 8


def test_rows_that_are_left_out_are_told_and_where_they_are():
    files = [Link("CSV", "csv/losses.csv")]
    rows = [["x"], ["y"]]
    text = render_page(page(section(columns=["a"], rows=rows, rows_in_all=1000, files=files)))
    assert "Here are 2 of 1,000 rows." in text
    assert 'All rows: <a href="csv/losses.csv">CSV</a>.' in text
    assert "of 2 rows" not in render_page(page(section(columns=["a"], rows=rows, rows_in_all=2)))


def test_a_section_without_rows_says_so():
    assert "Nobody." in render_page(page(section(nothing="Nobody.")))


def test_long_tables_are_folded_all_but_the_first():
    rows = [[number] for number in range(40)]
    long = section(columns=["a"], rows=rows, rows_in_all=40)
    found = read(render_page(page(long, long)))
    assert len([tag for tag, _ in found.tags if tag == "details"]) == 1
    assert found.cells.count("39") == 2
