"""Write two pages of docs/internals from benchmarks/history.jsonl; `--check` says whether they are stale.

benchmarks.md has the newest measurement of each line, benchmark-history.md all of them.
"""

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reference_page import write_page

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "benchmarks"
HISTORY = FOLDER / "history.jsonl"
PAGES = ROOT / "docs" / "internals"

sys.path.insert(0, str(FOLDER))
from support.line import readable, table, title  # noqa: E402

HEAD = """# Benchmarks

What each file of `benchmarks/` measures, and the newest measurement of each of its lines.
`tools/document_benchmarks.py` makes this page of the files and of `benchmarks/history.jsonl`;
[the history](benchmark-history.md) has the older ones.

`make bench` runs all of them, one process after the other; `.venv/bin/python benchmarks/run.py NAME...` runs some.
Each is run with the source and with the compiled build ([compiled.md](compiled.md)), which `make bench` makes.
`--json` gives an object per line, `--write FOLDER` leaves the lines and a table of them there.
`run.py longest_step --partitions 100000 300000 1000000` runs the plays at each size.
`--record` adds the lines to the history, and `make docs` puts them here.
All of them take about half an hour on two cores for a build.
They need Java 17 (with `javac`) and, for the first run, Maven: Kafka 4.3.1 is fetched into `.cache`.
Its own image writer makes the snapshot of a million partitions (10,000 topics of 100, 124 MB) there.
Without Java the lines against Kafka are left out, and said to be.
The offline downgrade needs 24 GiB of disk while it runs.

A line gives what we and the peer took, and the ratio (more than 1: we are faster).
Where the ratio by the clock or that of processor time is another one, it stands beside it.
Sides take turns, so that whatever else the machine does hits both.
The numbers are medians over the turns, the ratio the median of the turns' ratios.
Ratios by the clock mean little where the load is above 2.
A missed budget fails nothing: tests never look at the clock.
Where the time goes, and what was tried, is in [live-path.md](live-path.md), [compiled.md](compiled.md),
[fleet.md](fleet.md) and [0014](../decisions/0014-garbage-between-steps.md).
"""
HISTORY_HEAD = """# Benchmarks' history

What [the benchmarks](benchmarks.md) measured over time, the newest last.
`tools/document_benchmarks.py` makes this page of `benchmarks/history.jsonl`.

Entries up to 2026-11-24 are from the tables of that page, as they changed, with the commit that wrote them.
The machine was not the same, and often busy: compare ratios (more than 1: falkirk is faster), not times.

| work | build | peer | measured | commit | ours | peer's | ratio |
|---|---|---|---|---|---|---|---|
"""
COLUMNS = ("work", "build", "peer", "date", "commit", "ours", "peers", "ratio")
# What tells one measurement from another.
SAME = ("benchmark", "name", "against", "options", "build")
RUN = ("benchmark", "options", "build")


def document(entries: list[dict[str, Any]], released: str) -> str:
    """Return the page of the newest measurements, without those of before the day of the last release."""
    since = [each for each in entries if each["date"] >= released and "benchmark" in each]
    # A run has all lines of its file: those of earlier runs are repeated there, or no longer printed.
    commits = {tuple(each.get(key) for key in RUN): each["commit"] for each in since}
    last = [each for each in since if each["commit"] == commits[tuple(each.get(key) for key in RUN)]]
    newest = {tuple(each.get(key) for key in SAME): each for each in last}
    sections = [
        (file.stem, docstring(file), [each for each in newest.values() if each["benchmark"] == file.stem])
        for file in sorted(FOLDER.glob("*.py"))
        if file.name != "run.py"
    ]
    return HEAD + "".join("\n".join(["", *section(*each), ""]) for each in sections)


def section(name: str, text: str, lines: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of what one file measures."""
    yield from (f"## `{name}`", "", text, "")
    if lines:
        yield from table(lines)
    else:
        yield "Not measured since the last release."


def docstring(file: Path) -> str:
    """Return what a benchmark says of itself, a paragraph in a line; examples stay indented."""
    text = ast.get_docstring(ast.parse(file.read_text())) or ""
    return re.sub(r"(?<=\S)\n(?=\S)", " ", text)


def document_history(entries: list[dict[str, Any]]) -> str:
    """Return the page of all measurements: one table, with all figures of a measurement one below the other."""
    rows = [{"build": "source", **(row_of(each) if "name" in each else each)} for each in entries]
    first: dict[tuple[str, str], int] = {}
    for number, each in enumerate(rows):
        first.setdefault((each["work"], each["peer"]), number)
    rows.sort(key=lambda each: (first[each["work"], each["peer"]], each["build"] != "source"))
    return HISTORY_HEAD + "".join(f"| {' | '.join(each[column] for column in COLUMNS)} |\n" for each in rows)


def row_of(line: dict[str, Any]) -> dict[str, str]:
    """Return a line of a benchmark as the history has it."""
    row = {"work": title(line), "build": line["build"], "date": line["date"], "commit": line["commit"]}
    if "longest_s" in line:
        return row | {"peer": "", "ours": readable(line["longest_s"]), "peers": "", "ratio": ""}
    clock = f" ({line['wall_ratio']:.2f})" if "wall_ratio" in line else ""
    took = {"ours": readable(line["ours_s"]), "peers": readable(line["peer_s"])}
    return row | {"peer": line["against"], **took, "ratio": f"{line['ratio']:.2f}{clock}"}


def last_release(changelog: str) -> str:
    """Return the day of the last release that a changelog has, empty if there is none."""
    found = re.search(r"^## .*(\d{4}-\d{2}-\d{2})", changelog, re.MULTILINE)
    return found[1] if found else ""


if __name__ == "__main__":
    measured = [json.loads(line) for line in HISTORY.read_text().splitlines()]
    pages = {
        "benchmarks.md": document(measured, last_release((ROOT / "CHANGELOG.md").read_text())),
        "benchmark-history.md": document_history(measured),
    }
    sys.exit(max([write_page(PAGES / name, text) for name, text in pages.items()]))
