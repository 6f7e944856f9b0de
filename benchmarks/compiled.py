"""The frequent requests of a broker on the compiled build, against the source: processor time of `Node.step` or more.

No budget: it tells what compiling brings. `make compiled` makes the build; FALKIRK_COMPILED_BUILD names another folder.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from support.line import print_left_out, print_line

TURNS = 3
FOLDER = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("FALKIRK_COMPILED_BUILD", FOLDER.parent / "build" / "compiled"))


def main() -> None:
    if not BUILD.is_dir():
        print_left_out("compiled", "there is no compiled build: `make compiled`")
        return
    turns = [(seconds(is_pure=False), seconds(is_pure=True)) for _ in range(TURNS)]
    for name in turns[0][0]:
        ours, peer = ([turn[side][name] for turn in turns] for side in (0, 1))
        print_line(f"{name}, compiled", ours, peer, budget=None, against="the source")


def seconds(*, is_pure: bool) -> dict[str, float]:
    """Return the processor time of each kind of request."""
    paths = os.pathsep.join([str(BUILD), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths, "FALKIRK_PURE": str(int(is_pure))}
    command = [sys.executable, str(FOLDER / "support" / "hot_requests.py")]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    taken: dict[str, float] = json.loads(done.stdout)
    return taken


if __name__ == "__main__":
    main()
