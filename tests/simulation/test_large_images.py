"""Controllers of a large cluster crash and take over, and no step stalls one."""

import os

import pytest
from large_clusters import FEW_STEP_MS_MAX, FEW_TOPICS, TOPICS, with_large_metadata

from falkirk.node.step import STEP_MS_MAX
from falkirk.simulation.run import Verdict, simulate

# A second each.
SEEDS = int(os.environ.get("FALKIRK_STALL_SEEDS", "1000"))
PARTS = 8
# Ten seconds each.
LARGE_SEEDS = 8


def assert_no_step_stalls(seed: int, topics: int, step_ms_max: int) -> None:
    scenario = with_large_metadata(topics)
    result = simulate(seed, keeps_timeline=False, scenario=scenario, has_step_costs=True, step_ms_max=step_ms_max)
    assert result.verdict is Verdict.PASSED, f"seed {seed}: {result.problem}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_step_of_a_controller_does_all_partitions(seed: int) -> None:
    assert_no_step_stalls(seed, FEW_TOPICS, FEW_STEP_MS_MAX)


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("part", range(PARTS))
def test_no_step_of_a_controller_does_all_partitions_whatever_the_seed(part: int) -> None:
    for seed in range(part, SEEDS, PARTS):
        assert_no_step_stalls(seed, FEW_TOPICS, FEW_STEP_MS_MAX)


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("seed", range(LARGE_SEEDS))
def test_no_step_stalls_a_controller_of_a_large_cluster(seed: int) -> None:
    assert_no_step_stalls(seed, TOPICS, STEP_MS_MAX)
