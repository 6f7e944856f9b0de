"""Write docs/internals/benchmark-history.md from benchmarks/history.jsonl; `--check` says whether the page is stale."""

import json
import sys
from pathlib import Path

from reference_page import write_page

ROOT = Path(__file__).resolve().parents[1]
HISTORY = ROOT / "benchmarks" / "history.jsonl"
PAGE = ROOT / "docs" / "internals" / "benchmark-history.md"
HEAD = """# Benchmarks' history

What [the benchmarks](benchmarks.md) measured over time, the newest last.
`tools/document_benchmarks.py` makes this page of `benchmarks/history.jsonl`.

`benchmarks/run.py --record NAME...` adds what it measures, and `make docs` puts it on this page.
Entries up to 2026-11-24 are from the tables of that page, as they changed, with the commit that wrote them.
The machine was not the same, and often busy: compare ratios (more than 1: falkirk is faster), not times.

| work | build | peer | measured | commit | ours | peer's | ratio |
|---|---|---|---|---|---|---|---|
"""
COLUMNS = ("work", "build", "peer", "date", "commit", "ours", "peers", "ratio")


def document() -> str:
    """Return the page: one table, with all figures of a measurement one below the other."""
    entries = [{"build": "source", **json.loads(line)} for line in HISTORY.read_text().splitlines()]
    first = {}
    for number, each in enumerate(entries):
        first.setdefault((each["work"], each["peer"]), number)
    entries.sort(key=lambda each: (first[each["work"], each["peer"]], each["build"] != "source"))
    return HEAD + "".join(f"| {' | '.join(each[column] for column in COLUMNS)} |\n" for each in entries)


if __name__ == "__main__":
    sys.exit(write_page(PAGE, document()))
