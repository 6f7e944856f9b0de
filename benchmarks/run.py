"""Run every benchmark of this folder, or those named: `run.py [--json] [NAME...]`.

A benchmark is a Python file beside this one that prints lines of `support/line.py`; Java programs are in `java/`. Each
runs in a process of its own, one after the other. One without its peer here says so and succeeds; a missed budget is
reported and is no failure, because the speed of this machine varies. All of them take about half an hour.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from support.line import line_text

FOLDER = Path(__file__).resolve().parent
BENCHMARKS = sorted(path.stem for path in FOLDER.glob("*.py") if path.name != "run.py")


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure falkirk against its peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all if none is given: {', '.join(BENCHMARKS)}")
    parser.add_argument("--json", action="store_true", help="print each line as a JSON object")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    started = time.monotonic()
    lines: list[dict[str, Any]] = []
    failed = [name for name in arguments.names or BENCHMARKS if not run(name, lines, as_json=arguments.json)]
    print(summary(lines, failed, time.monotonic() - started), file=sys.stderr)
    return 1 if failed else 0


def run(name: str, lines: list[dict[str, Any]], *, as_json: bool) -> bool:
    """Run one file, print its lines as they come and collect them; return whether it succeeded."""
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for text in process.stdout:
            line = json.loads(text)
            lines.append(line)
            print(text.rstrip() if as_json else line_text(line), flush=True)
    return process.returncode == 0


def line_name(line: dict[str, Any]) -> str:
    return f"{line['name']}, against {line['against']}" if "against" in line else line["name"]


def summary(lines: list[dict[str, Any]], failed: list[str], seconds: float) -> str:
    measured = [line for line in lines if line.get("met") is not None]
    missed = [line_name(line) for line in measured if not line["met"]]
    found = [f"{len(measured) - len(missed)} of {len(measured)} budgets met, in {seconds:.0f} s"]
    found += [f"missed: {text}" for text in missed]
    found += [f"left out: {line['name']}" for line in lines if "left_out" in line]
    found += [f"FAILED: {name}" for name in failed]
    return "\n".join(["", *found])


if __name__ == "__main__":
    sys.exit(main())
