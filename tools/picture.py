"""Draw the README's picture from a real run: what `falkirk logdir plan` prints of a stopped Kafka 4.3.1.

Writes docs/images/verdict.svg; with `--check` only reports whether it is fresh. The cluster is that of `make demo`.
"""

import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
ARCHIVE = ROOT / "demo" / "data" / "cluster-4.3.1.tar.gz"
PICTURE = ROOT / "docs" / "images" / "verdict.svg"
COMMAND = "falkirk logdir plan cluster/node-1/d0 cluster/node-1/d1 --to 3.9"
WOULD_LOSE = 3
COLUMNS = 118
# So many lines of one list are drawn.
LINES_SHOWN = 3
STYLES = {
    r"^\$ .*": "bold",
    r"^Would be lost: \d+": "bold red",
    r"^(Converted|Dropped features|Kept, but of no effect there|Groups that look different afterwards):": "bold yellow",
    r"^\d+ things would be lost.*": "bold red",
    r"\b(cordoned log dirs|elr to isr|share group) \(\d+\)": "red",
}


def main() -> int:
    made = drawn(output())
    if "--check" not in sys.argv[1:]:
        PICTURE.write_text(made)
        return 0
    if PICTURE.read_text() == made:
        return 0
    print(f"{PICTURE} is stale: run tools/picture.py")
    return 1


def output() -> str:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tar", "-xzf", ARCHIVE, "-C", folder], check=True)
        command = [sys.executable, "-m", *COMMAND.split()]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != WOULD_LOSE:
        raise SystemExit(f"{COMMAND} ended with status {done.returncode}: {done.stderr}")
    return done.stdout


def drawn(text: str) -> str:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for line in [f"$ {COMMAND}", *shortened(text.splitlines())]:
        styled = Text(line)
        for pattern, style in STYLES.items():
            styled.highlight_regex(pattern, style)
        console.print(styled, no_wrap=True, overflow="ellipsis")
    svg = console.export_svg(title="What would going from Kafka 4.3 to 3.9 cost?", unique_id="verdict")
    # Rich names a font on another server.
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def shortened(lines: list[str]) -> Iterator[str]:
    for indent, group in groupby(lines, key=lambda line: len(line) - len(line.lstrip())):
        members = list(group)
        yield from members[:LINES_SHOWN]
        if len(members) > LINES_SHOWN:
            yield " " * indent + "..."


if __name__ == "__main__":
    sys.exit(main())
