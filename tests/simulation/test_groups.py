"""Groups of both protocols while brokers crash: one owner for each partition, and no committed offset lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from group_clusters import GROUP, SCENARIO
from simulated_seeds import assert_passed

from falkirk.simulation.machine.disk import CrashOutcome
from falkirk.simulation.plans.fault_plan import FaultPlan
from falkirk.simulation.plans.group_plan import CLASSIC
from falkirk.simulation.plans.roll_plan import Pause, RollPlan, SetFeature
from falkirk.simulation.run import CrashPoint, Verdict, simulate
from falkirk.versions.release import Release

SEED = 1
BROKER = 21


def crash_at(changes: range) -> None:
    for change in changes:
        for outcome in CrashOutcome:
            crash = CrashPoint(node_id=BROKER, change=change, outcome=outcome)
            result = simulate(SEED, keeps_timeline=False, scenario=SCENARIO, crash=crash)
            assert result.verdict is Verdict.PASSED, f"{crash}\n{result.problem}"


def changes_of_the_broker() -> int:
    return simulate(SEED, keeps_timeline=False, scenario=SCENARIO).changes[f"broker-{BROKER}"]


@pytest.mark.slow
def test_members_of_both_protocols_share_a_group_and_commit() -> None:
    result = simulate(SEED, keeps_timeline=False, scenario=SCENARIO)

    assert result.verdict is Verdict.PASSED, result.problem
    assert result.marks["members of both protocols in a group"] > 0
    assert result.counts["offsets committed"] > 20


@pytest.mark.slow
@pytest.mark.parametrize("word", ["3.7", "3.9", "4.0"])
def test_groups_of_older_releases_are_kept_as_well(word: str) -> None:
    release = Release.parse(word)
    scenario = replace(
        SCENARIO,
        releases=(release,),
        node_releases=(release,) * 3,
        metadata_version=release.latest_metadata_version,
    )
    result = simulate(SEED, keeps_timeline=False, scenario=scenario)

    assert result.verdict is Verdict.PASSED, result.problem
    assert result.counts["offsets committed"] > 20


@pytest.mark.slow
def test_a_heartbeat_that_a_loading_coordinator_answers_brings_no_session_back() -> None:
    # A heartbeat came while the log of a group was loaded in which its member had been removed.
    assert_passed(simulate(5453, keeps_timeline=False))


@pytest.mark.slow
def test_a_coordinator_may_crash_at_a_change_on_its_disk() -> None:
    assert changes_of_the_broker() > 50
    crash_at(range(20, 21))


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("part", range(10))
def test_a_coordinator_may_crash_at_each_change_on_its_disk(part: int) -> None:
    crash_at(range(1 + part, changes_of_the_broker() + 1, 10))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 4))
def test_a_group_goes_up_with_a_feature_together_though_brokers_hear_of_it_late(seed: int) -> None:
    """KIP-584's use case, T0 to T5: brokers are cut off, so that members meet some that do not know the level yet."""
    group = replace(GROUP, protocols=(CLASSIC,), feature="group.version", life_ms=20_000)
    assert SCENARIO.data is not None
    scenario = replace(
        SCENARIO,
        data=replace(SCENARIO.data, groups=(group,)),
        faults=FaultPlan(kinds=frozenset({"partitions", "freezes"}), interval_ms=400),
        roll=RollPlan(steps=(Pause(for_ms=3_000), SetFeature(name="group.version", to=1))),
    )
    result = simulate(seed, keeps_timeline=False, scenario=scenario)

    assert result.verdict is Verdict.PASSED, result.problem
    assert result.counts["level of groups"] == 1
    assert result.counts["offsets committed"] > 10
