"""Bugs that are planted into the package to see the simulator find them: patches, and runs with one applied.

A patch is a unified diff against src/falkirk under two lines of its own: which seed finds the bug and how a run then
ends, and what the slip is. Hunks are found by their text, so that other changes of a file do not matter; a hunk whose
text is not there, or is there twice, is an error.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import falkirk

PACKAGE = Path(falkirk.__file__).parent
_HEAD = re.compile(r"# seed (\d+): (.+)\n# .+\n")
# Runs seeds until one does not pass, with modules from other files than the package's own: with data all those that
# have any, else all of them without.
_RUN = """
import importlib.util, json, sys
first, last, modules, kind = json.loads(sys.argv[1])

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return importlib.util.spec_from_file_location(name, modules[name]) if name in modules else None

sys.meta_path.insert(0, Finder)
from falkirk.simulation.run import Verdict, simulate
from falkirk.simulation.scenario import Scenario
from falkirk.simulation.world import World
if kind == "zookeeper":
    from falkirk.simulation.zookeeper.run import simulate
for seed in range(first, last):
    scenario = None if kind == "zookeeper" else Scenario.of(World(seed).chance("scenario"))
    if kind == "rolls":
        from rolling_clusters import whole_story
        scenario = whole_story()
    if kind == "elr":
        from eligible_clusters import with_eligible_replicas
        scenario = with_eligible_replicas()
    if kind == "groups":
        from group_clusters import disturbed
        scenario = disturbed()
    if kind == "data":
        scenario = scenario.with_data(World(seed).chance("data"))
        if scenario.data is None:
            continue
    result = simulate(seed, keeps_timeline=False, scenario=scenario)
    if result.verdict is not Verdict.PASSED:
        print(json.dumps([seed, result.verdict.value, result.problem]))
        break
"""


@dataclass(frozen=True)
class PlantedBug:
    """`seed` is known to find it; one of `kinds` begins the verdict and, if an invariant breaks, its name.

    A seed may come to see a bug in another way when the code changes: ` or ` stands between the kinds of a patch.

    `folder`: `data` where runs with data are to find it, `elr` where two brokers with eligible leader replicas are,
    `groups` where a small cluster with a group is, `rolls` where an operator's whole story is, `zookeeper` where any
    run of KIP-584's mode is.
    """

    path: Path
    seed: int
    kinds: tuple[str, ...]
    folder: str

    @classmethod
    def read(cls, path: Path) -> PlantedBug:
        head = _HEAD.match(path.read_text())
        assert head is not None, f"{path.name} does not begin with its seed, its kind and what it is"
        return cls(path, int(head.group(1)), tuple(head.group(2).split(" or ")), path.parent.name)

    def apply(self, directory: Path) -> dict[str, str]:
        """Write the changed modules into a directory; give the file of each, by the module's name."""
        modules = {}
        for part in re.split(r"(?m)^--- ", self.path.read_text())[1:]:
            heading, *hunks = re.split(r"(?m)^@@.*\n", part)
            file = heading.split("+++ b/")[1].strip()
            text = (PACKAGE / file).read_text()
            for hunk in hunks:
                text = _replaced(text, hunk, f"{self.path.name}: {file}")
            changed = directory / file.replace("/", "_")
            changed.write_text(text)
            modules["falkirk." + file.removesuffix(".py").replace("/", ".")] = str(changed)
        return modules

    def find(self, modules: dict[str, str], seeds: range) -> tuple[int, str] | None:
        """Run seeds until one finds the bug; give the seed, and how its run ended."""
        arguments = json.dumps([seeds.start, seeds.stop, modules, self.folder])
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        done = subprocess.run(
            [sys.executable, "-c", _RUN, arguments], env=environment, capture_output=True, text=True, check=True
        )
        if not done.stdout:
            return None
        seed, verdict, problem = json.loads(done.stdout)
        return seed, f"{verdict}: {problem}"


def _replaced(text: str, hunk: str, where: str) -> str:
    lines = hunk.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    assert text.count(before) == 1, f"{where}: this text is there {text.count(before)} times:\n{before}"
    return text.replace(before, after)
