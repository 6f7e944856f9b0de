"""Runs on worn hardware: nodes refuse or mend what has rotted, and clocks and disks do no harm."""

from functools import partial

import pytest
from simulated_seeds import passed
from worn_clusters import worn

from falkirk.simulation.plans.fault_plan import CLOCKS_SET_BACK, ROTTEN_DATA, ROTTEN_METADATA, SLOW_DISKS, WORN
from falkirk.simulation.run import SimulationResult, simulate

MARKS = {
    ROTTEN_METADATA: {"bit of metadata flipped", "flipped bit refused"},
    ROTTEN_DATA: {"bit of data flipped"},
    CLOCKS_SET_BACK: {"clock set back"},
    SLOW_DISKS: {"disk was slow"},
}


def run(seed: int, *, kinds: tuple[str, ...], has_data: bool, keeps_timeline: bool) -> SimulationResult:
    return simulate(seed, keeps_timeline=keeps_timeline, scenario=worn(seed, *kinds, has_data=has_data))


@pytest.mark.slow
@pytest.mark.parametrize("kind", WORN)
def test_clusters_survive_worn_hardware(kind: str) -> None:
    marks = passed(partial(run, kinds=(kind,), has_data=kind == ROTTEN_DATA), range(3))
    assert marks.keys() >= MARKS[kind]


@pytest.mark.full
@pytest.mark.parametrize("has_data", [False, True])
def test_many_clusters_survive_all_kinds_at_once(*, has_data: bool) -> None:
    marks = passed(partial(run, kinds=WORN, has_data=has_data), range(100, 140))
    assert marks.keys() >= set().union(*(MARKS[kind] for kind in WORN if has_data or kind != ROTTEN_DATA))
