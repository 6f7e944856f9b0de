import document_benchmarks as pages

LINE = {
    "benchmark": "fetch",
    "name": "fetch",
    "against": "Kafka",
    "build": "source",
    "python": "3.11.7",
    "commit": "abc",
    "ours_s": 1e-3,
    "peer_s": 2e-3,
    "ratio": 2.0,
    "wall_ratio": 0.5,
    "budget": 1,
    "met": True,
    "load": 0.4,
}


def test_the_page_has_the_newest_measurement_of_each_line_since_the_last_release():
    entries = [
        LINE | {"date": "2026-01-02", "commit": "older"},
        LINE | {"date": "2026-01-03", "commit": "newer"},
        LINE | {"date": "2026-01-02", "commit": "other", "build": "compiled"},
    ]
    page = pages.document(entries, "2026-01-02")
    assert "| fetch, against Kafka | source | 1ms | 2ms | 2.00 | 0.50 |  | 1 | met | 0 | 2026-01-03 newer |" in page
    assert "2026-01-02 older" not in page
    assert "2026-01-02 other" in page
    assert "other |" not in pages.document(entries, "2026-01-03")


def test_the_history_has_all_of_them_and_the_tables_that_were_written_by_hand():
    row = {"work": "by hand", "peer": "x", "date": "d", "commit": "c", "ours": "1 s", "peers": "2 s", "ratio": "2"}
    step = {
        "benchmark": "longest_step",
        "name": "a step",
        "longest_s": 0.04,
        "work": "a slice",
        "build": "source",
        "commit": "abc",
    }
    page = pages.document_history([row, LINE | {"date": "e"}, step | {"date": "f"}])
    assert page.endswith(
        "| by hand | source | x | d | c | 1 s | 2 s | 2 |\n"
        "| fetch | source | Kafka | e | abc | 1ms | 2ms | 2.00 (0.50) |\n"
        "| a step | source |  | f | abc | 40ms |  |  |\n"
    )


def test_the_last_release_is_the_first_dated_heading():
    assert pages.last_release("## Unreleased\n\n## 0.2.0 (2026-12-01)\n## 0.1.0 (2026-11-01)\n") == "2026-12-01"
    assert pages.last_release("## Unreleased\n") == ""
