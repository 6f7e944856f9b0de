"""Run every benchmark of this folder, or those named: `run.py [NAME...]`.

A benchmark is a Python file beside this one that prints lines `name ratio=... ours=... peer=...` when it is run; what
it shares with others stands in `support/`, Java programs in `java/`. One that misses its peer prints a line
`NAME left out: reason` and ends well. Each runs in a process of its own, one after the other.
"""

import re
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
BUDGET = re.compile(r"^(?P<name>.*) ratio=(?P<ratio>[\d.]+) .*must=(?P<must>[\d.]+)")


def main() -> int:
    wanted = sys.argv[1:]
    files = [path for path in sorted(FOLDER.glob("*.py")) if path.name != "run.py"]
    unknown = set(wanted) - {path.stem for path in files}
    if unknown:
        print(f"no such benchmark: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    started = time.monotonic()
    failed: list[str] = []
    below: list[str] = []
    left_out: list[str] = []
    for path in files:
        if wanted and path.stem not in wanted:
            continue
        status, lines = run(path)
        if status != 0:
            failed.append(path.stem)
        left_out += [line for line in lines if " left out: " in line]
        found = filter(None, map(BUDGET.match, lines))
        below += [match["name"] for match in found if float(match["ratio"]) < float(match["must"])]
    print(f"\n{time.monotonic() - started:.0f} s")
    for title, names in (("below their budget", below), ("left out", left_out), ("FAILED", failed)):
        if names:
            print(f"{title}: {'; '.join(names)}")
    return 1 if failed else 0


def run(path: Path) -> tuple[int, list[str]]:
    """Run one file and print its lines as they come; give its exit status and the lines."""
    lines: list[str] = []
    command = [sys.executable, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=FOLDER.parent) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip())
    return process.returncode, lines


if __name__ == "__main__":
    sys.exit(main())
