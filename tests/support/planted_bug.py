"""Bugs planted into the package for the simulator to find: patches, and runs with one applied.

A patch is a unified diff against src/falkirk under two lines of its own: the seed that finds the bug, or the scope of
the explorer, with the expected verdict, and what the slip is. It names files without their folders and its hunks are
found by their text, so it survives moves and unrelated changes of a file; a hunk whose text is missing or ambiguous is
an error.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import falkirk

PACKAGE = Path(falkirk.__file__).parent
_HEAD = re.compile(r"# (?:seed (\d+)|scope ([\w-]+)): (.+)\n# .+\n")
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
if kind == "explorer":
    from falkirk.simulation.explorer.exploration import Exploration
    from falkirk.simulation.explorer.scopes import SCOPES
    result = Exploration(SCOPES[first]).run()
    print(json.dumps([0, "wrong result", result.problem]) if result.problem else "")
    sys.exit()
from falkirk.simulation.run import Verdict, simulate
from falkirk.simulation.plans.scenario import Scenario
from falkirk.simulation.machine.world import World
if kind == "zookeeper":
    from falkirk.simulation.zookeeper.run import simulate
options = {}
worn_kinds = {
    "rotten_metadata": "bit rot of metadata",
    "rotten_data": "bit rot of data",
    "set_back": "clocks set back",
    "slow_disks": "slow disks",
    "power_losses": "power losses",
}
for seed in range(first, last):
    scenario = None if kind == "zookeeper" else Scenario.of(World(seed).chance("scenario"))
    if kind == "rolls":
        from rolling_clusters import whole_story
        scenario = whole_story()
    if kind == "elr":
        from eligible_clusters import with_eligible_replicas
        scenario = with_eligible_replicas()
    if kind == "steps":
        from large_clusters import FEW_STEP_MS_MAX, FEW_TOPICS, with_large_metadata
        scenario = with_large_metadata(FEW_TOPICS)
        options = {"has_step_costs": True, "step_ms_max": FEW_STEP_MS_MAX}
    if kind == "groups":
        from group_clusters import disturbed
        scenario = disturbed()
    if kind == "commits":
        from group_clusters import cut_off
        scenario = cut_off()
    if kind == "transactions":
        from transaction_clusters import disturbed
        from falkirk.versions.release import Release
        scenario = disturbed(Release.parse("4.3"), 2)
    if kind == "transaction_levels":
        from transaction_clusters import at_moving_levels
        scenario = at_moving_levels()
    if kind in worn_kinds:
        from worn_clusters import worn
        scenario = worn(seed, worn_kinds[kind], has_data=kind in ("rotten_data", "slow_disks", "power_losses"))
    if kind == "data":
        scenario = scenario.with_data(World(seed).chance("data"))
        if scenario.data is None:
            continue
    result = simulate(seed, keeps_timeline=False, scenario=scenario, **options)
    if result.verdict is not Verdict.PASSED:
        print(json.dumps([seed, result.verdict.value, result.problem]))
        break
"""


@dataclass(frozen=True)
class PlantedBug:
    """`seed` is known to find it; one of `kinds` begins the verdict or, if an invariant breaks, its name.

    When the code changes, a seed may find a bug in another way: ` or ` separates the kinds of a patch.

    `folder`: which runs find it: `data` with data, `elr` two brokers with eligible leader replicas, `groups` a small
    cluster with a group, `transactions` one with transactional clients, `transaction_levels` one whose
    transaction.version goes up and down, `commits` one whose brokers are cut off for
    seconds, `steps` a large cluster whose steps have costs, `rolls` an operator's whole story, `rotten_metadata`,
    `rotten_data`, `set_back` and `slow_disks` clusters on worn hardware, `power_losses` brokers with data that lose
    power and nothing else, `zookeeper` any run of
    KIP-584's mode, `explorer` the exploration of `scope`, in place of a seed.
    """

    path: Path
    seed: int
    scope: str | None
    kinds: tuple[str, ...]
    folder: str

    @classmethod
    def read(cls, path: Path) -> PlantedBug:
        head = _HEAD.match(path.read_text())
        assert head is not None, f"{path.name} does not begin with its seed, its kind and what it is"
        seed, scope, kinds = head.groups()
        return cls(path, int(seed or 0), scope, tuple(kinds.split(" or ")), path.parent.name)

    def apply(self, directory: Path) -> dict[str, str]:
        """Write the changed modules into a directory; return the file of each by module name."""
        modules = {}
        for part in re.split(r"(?m)^--- ", self.path.read_text())[1:]:
            heading, *hunks = re.split(r"(?m)^@@.*\n", part)
            name = heading.split("+++ ")[1].strip()
            found = [(file, text) for file in _files(name) if (text := _patched(file.read_text(), hunks))]
            assert len(found) == 1, f"{self.path.name}: {len(found)} files {name} have the text of its hunks once"
            file, text = found[0]
            module = ".".join(("falkirk", *file.relative_to(PACKAGE).with_suffix("").parts))
            changed = directory / f"{module}.py"
            changed.write_text(text)
            modules[module] = str(changed)
        return modules

    def find(self, modules: dict[str, str], seeds: range) -> tuple[int, str] | None:
        """Run seeds until one finds the bug; return the seed and its verdict."""
        arguments = json.dumps([self.scope or seeds.start, seeds.stop, modules, self.folder])
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), str(Path(__file__).parent)])}
        done = subprocess.run(
            [sys.executable, "-c", _RUN, arguments], env=environment, capture_output=True, text=True, check=True
        )
        if not done.stdout.strip():
            return None
        seed, verdict, problem = json.loads(done.stdout)
        return seed, f"{verdict}: {problem}"


@cache
def _all_files() -> list[Path]:
    return list(PACKAGE.rglob("*.py"))


def _files(name: str) -> list[Path]:
    return [file for file in _all_files() if file.name == name]


def _patched(text: str, hunks: list[str]) -> str | None:
    """Return the text with all hunks applied; None if the text of one is missing or ambiguous."""
    for hunk in hunks:
        lines = hunk.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        if text.count(before) != 1:
            return None
        text = text.replace(before, "".join(line[1:] for line in lines if line[0] in " +"))
    return text
