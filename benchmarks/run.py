"""Run every benchmark of this folder, or those named.

    run.py [--json] [--write FOLDER] [--record] [--builds source compiled] [NAME...]
    run.py longest_step failover --partitions 100000 300000 1000000 --write FOLDER

`--write` leaves the lines as NAME.json and a table of them as NAME.md. `--record` adds them to history.jsonl, of which
`make docs` makes docs/internals/benchmarks.md. `--partitions` is for benchmarks that take it.
Each benchmark is run with the source and with the compiled build, if there is one (`make compiled`).

A benchmark is a Python file beside this one that prints lines of `support/line.py`; Java programs are in `java/`. Each
runs in a process of its own, one after the other. One without its peer here says so and succeeds; a missed budget is
reported and is no failure, because the speed of this machine varies. All of them take about half an hour for a build.
"""

import argparse
import datetime as dt
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from support.line import line_text, table

FOLDER = Path(__file__).resolve().parent
HISTORY = FOLDER / "history.jsonl"
COMPILED = FOLDER.parent / "build" / "compiled"
BUILDS = ("source", "compiled")
# These run both builds themselves.
OF_BOTH_BUILDS = {"compiled"}
BENCHMARKS = sorted(path.stem for path in FOLDER.glob("*.py") if path.name != "run.py")


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure falkirk against its peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all if none is given: {', '.join(BENCHMARKS)}")
    parser.add_argument("--partitions", nargs="+", type=int, metavar="COUNT", help="run each named one for each count")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write lines and a table of each benchmark")
    parser.add_argument("--record", action="store_true", help="add the lines to history.jsonl")
    parser.add_argument("--builds", nargs="+", choices=BUILDS, help="source, and compiled if there is such a build")
    parser.add_argument("--json", action="store_true", help="print each line as a JSON object")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    started = time.monotonic()
    lines: list[dict[str, Any]] = []
    failed = []
    for name in arguments.names or BENCHMARKS:
        before = len(lines)
        for options in sizes(arguments.partitions):
            failed += [
                " ".join((name, *options, build))
                for build in builds(name, arguments.builds)
                if not run(name, lines, options, build, as_json=arguments.json)
            ]
            if arguments.write is not None:
                write(arguments.write, name, lines[before:])
        if arguments.record:
            record(HISTORY, lines[before:])
    print(summary(lines, failed, time.monotonic() - started), file=sys.stderr)
    return 1 if failed else 0


def builds(name: str, wanted: list[str] | None) -> list[str]:
    """Return the builds that a benchmark is run with."""
    if name in OF_BOTH_BUILDS:
        return ["source"]
    return wanted or [build for build in BUILDS if build == "source" or COMPILED.is_dir()]


def sizes(partitions: list[int] | None) -> list[tuple[str, ...]]:
    """Return the options of each run of a benchmark."""
    return [()] if partitions is None else [("--partitions", str(count)) for count in partitions]


def write(folder: Path, name: str, lines: list[dict[str, Any]]) -> None:
    """Write what a benchmark has printed so far, so that a run that is ended early leaves what it had."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / f"{name}.md").write_text("\n".join(table(lines)) + "\n")


def record(history: Path, lines: list[dict[str, Any]]) -> None:
    """Add what was measured to the history."""
    asked = ["git", "log", "-1", "--format=%h"]
    commit = subprocess.run(asked, cwd=FOLDER, check=True, capture_output=True, text=True).stdout.strip()
    measured = {"date": dt.datetime.now(dt.UTC).date().isoformat(), "commit": commit}
    with history.open("a") as file:
        file.writelines(json.dumps(measured | line) + "\n" for line in lines if "left_out" not in line)


def run(name: str, lines: list[dict[str, Any]], options: tuple[str, ...], build: str, *, as_json: bool) -> bool:
    """Run one file, print its lines as they come and collect them; return whether it succeeded."""
    command = [sys.executable, str(FOLDER / f"{name}.py"), *options, "--json"]
    environment = dict(os.environ)
    if build == "compiled":
        environment["PYTHONPATH"] = os.pathsep.join([str(COMPILED), *filter(None, [environment.get("PYTHONPATH")])])
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for text in process.stdout:
            line = {"benchmark": name, **json.loads(text), "build": build, "python": platform.python_version()}
            lines.append(line | ({"options": " ".join(options)} if options else {}))
            print(json.dumps(lines[-1]) if as_json else f"{build}: {line_text(line)}", flush=True)
    return process.returncode == 0


def line_name(line: dict[str, Any]) -> str:
    name = f"{line['name']}, against {line['against']}" if "against" in line else line["name"]
    return f"{name} ({line['build']})"


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
