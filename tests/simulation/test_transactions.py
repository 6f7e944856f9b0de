"""Transactions while brokers crash and are cut off: whole or not at all, and one owner of each epoch."""

import pytest
from simulated_seeds import assert_passed
from transaction_clusters import at_moving_levels, disturbed, quiet

from falkirk.simulation.machine.world import World
from falkirk.simulation.plans.scenario import Scenario
from falkirk.simulation.plans.transaction_plan import TRANSACTION_TIMEOUT_MS
from falkirk.simulation.run import HEALING_MS, Verdict, simulate
from falkirk.versions.release import Release


@pytest.mark.slow
@pytest.mark.parametrize(("word", "level"), [("4.3", 2), ("3.9", 0)])
def test_transactions_are_committed_and_aborted(word: str, level: int) -> None:
    result = simulate(1, keeps_timeline=False, scenario=quiet(Release.parse(word), level))

    assert result.verdict is Verdict.PASSED, result.problem
    assert result.counts["transactions committed"] > 10
    assert result.counts["transactions aborted"] > 3


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize(("word", "level"), [("3.7", 0), ("3.9", 0), ("4.0", 2), ("4.1", 1), ("4.3", 2), ("4.4", 2)])
@pytest.mark.parametrize("seed", range(1, 6))
def test_transactions_survive_crashes_and_partitions(word: str, level: int, seed: int) -> None:
    result = simulate(seed, keeps_timeline=False, scenario=disturbed(Release.parse(word), level))

    assert result.verdict is Verdict.PASSED, result.problem
    assert result.counts["transactions committed"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 7, 17, *(pytest.param(seed, marks=pytest.mark.full) for seed in (90003, 90020))])
def test_seeds_with_transactions_pass(seed: int) -> None:
    result = simulate(seed, keeps_timeline=False, has_transactions=True)

    assert_passed(result)
    assert result.counts["transactions committed"] > 0


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("first", range(1000, 1400, 20))
def test_whatever_happens_for_long_transactions_are_whole(first: int) -> None:
    for seed in range(first, first + 20):
        assert_passed(simulate(seed, keeps_timeline=False, has_transactions=True))


def test_clocks_of_runs_with_transactions_differ_by_less_than_a_run_waits_for_a_timeout() -> None:
    for seed in range(50):
        chosen = Scenario.of_seed(World(seed).chance, has_transactions=True)

        assert chosen.skew_ms_max + TRANSACTION_TIMEOUT_MS < HEALING_MS


def test_seeds_without_the_option_have_no_transactions() -> None:
    for seed in range(50):
        chosen = Scenario.of_seed(World(seed).chance)

        assert chosen.data is None or not chosen.data.transactions


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 11))])
def test_transactions_go_on_while_transaction_version_is_raised_and_lowered(seed: int) -> None:
    result = simulate(seed, keeps_timeline=False, scenario=at_moving_levels())

    assert result.verdict is Verdict.PASSED, result.problem
    assert result.counts["transactions committed"] > 30
