"""Files of a report: names, words, the runbook, CSV."""

import csv
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from falkirk.metadata.losses.loss_catalogue import CATALOGUE
from falkirk.pipeline.reports.cluster_files import cluster_page
from falkirk.pipeline.reports.csv_files import write_answer_csv, write_rows_csv
from falkirk.pipeline.reports.page import Link
from falkirk.pipeline.reports.runbook import render_runbook
from falkirk.pipeline.reports.words import BLOCKERS, api_text, level_text, loss_words

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "name", ["../../evil", "a/b", "..", "", "a\x00b", "C:\\x", "nul\n", "\ud800", "x" * 500, "a?b#c%20"]
)
def test_no_name_of_a_cluster_leaves_the_folder_or_needs_quotes(name):
    path = cluster_page(name)
    folder, file = path.split("/")
    assert folder == "clusters"
    assert len(file) < 100
    assert set(file) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


def test_names_that_differ_in_case_alone_have_files_that_differ_in_more():
    assert cluster_page("orders").lower() != cluster_page("Orders").lower()


def test_every_kind_of_loss_has_words():
    kinds = {rule.kind for rule in CATALOGUE} | {"unknown_config", "feature_dropped", "feature_lowered"}
    without = [kind for kind in sorted(kinds) if not loss_words(kind).meaning]
    assert without == [], "pipeline/reports/words.py: a title and a meaning for each kind"
    assert loss_words("committed_offsets").title == "Committed offsets"


def test_levels_and_apis_have_names():
    assert level_text("metadata.version", 21) == "3.9-IV0"
    # Of a node that is newer than this falkirk.
    assert level_text("metadata.version", 99) == "99"
    assert (level_text("group.version", 1), level_text("group.version", 0)) == ("1", "off")
    assert (api_text("Fetch", 1, 13), api_text(None, 99, 0)) == ("Fetch v13", "unknown API 99 v0")


def test_the_runbook_has_a_section_for_each_blocker_of_a_fleet():
    page = render_runbook(Link("back", "report.html"))
    for kind in BLOCKERS:
        assert f'<section id="{kind}"' in page
    # Links to other documents would lead nowhere beside a report.
    assert ".md" not in page


def test_the_runbook_is_that_of_the_documents():
    copy = ROOT / "src/falkirk/pipeline/reports/templates/blockers.txt"
    assert copy.read_text() == (ROOT / "docs/runbooks/blockers.md").read_text(), "run `make docs`"


def test_csv_has_every_row_and_nothing_that_a_spreadsheet_computes(tmp_path):
    table = pa.table(
        {
            "name": ["=1+1", "plain", None, '@x,"y"\n'],
            "counts": pa.array([[("a", 1)], [], None, []], pa.map_(pa.string(), pa.int64())),
            "number": [-1, 2, 3, None],
        }
    )
    (tmp_path / "answer").mkdir()
    parquet.write_table(table, tmp_path / "answer" / "part.parquet")
    write_answer_csv(tmp_path / "answer", tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [
            ["name", "counts", "number"],
            ["'=1+1", '{"a":1}', "-1"],
            ["plain", "{}", "2"],
            ["", "", "3"],
            ['\'@x,"y"\n', "{}", ""],
        ]
    write_rows_csv(["a"], [["=1"], [7]], tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text().split() == ["a", "'=1", "7"]
