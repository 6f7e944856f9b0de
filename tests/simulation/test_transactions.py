"""Transactions while brokers crash and are cut off: whole or not at all, and one owner of each epoch."""

from dataclasses import replace

import pytest
from transaction_clusters import disturbed, quiet

from falkirk.simulation.plans.roll_plan import Pause, RollPlan, SetFeature
from falkirk.simulation.run import Verdict, simulate
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
@pytest.mark.full
@pytest.mark.parametrize(("before", "after"), [(0, 2), (2, 0)])
def test_transactions_go_on_while_transaction_version_is_raised_or_lowered(before: int, after: int) -> None:
    steps = (Pause(for_ms=3_000), SetFeature(name="transaction.version", to=after), Pause(for_ms=3_000))
    scenario = replace(quiet(Release.parse("4.3"), before), roll=RollPlan(steps=steps))
    result = simulate(1, keeps_timeline=False, scenario=scenario)

    assert result.verdict is Verdict.PASSED, result.problem
    assert result.counts["transactions committed"] > 10
