"""Controllers of a large cluster crash and take over, and no step stalls one."""

import os

import pytest
from large_clusters import with_large_metadata

from falkirk.simulation.run import Verdict, simulate

# Half a minute each; the image is made once.
SEEDS = int(os.environ.get("FALKIRK_STALL_SEEDS", "40"))
PARTS = 4


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("part", range(PARTS))
def test_no_step_stalls_a_controller_of_a_large_cluster(part: int) -> None:
    scenario = with_large_metadata()
    for seed in range(part, SEEDS, PARTS):
        result = simulate(seed, keeps_timeline=False, scenario=scenario, has_step_costs=True)
        assert result.verdict is Verdict.PASSED, f"seed {seed}: {result.problem}"
