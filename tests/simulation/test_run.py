"""Seeds that must pass, replays that must be the same, and a crash at every change on a disk."""

import json
import os
import subprocess
import sys
from collections import Counter

import pytest
from large_clusters import with_large_metadata
from simulated_seeds import assert_passed, passed, reach

from falkirk import slices
from falkirk.metadata.controller.partitions import broker_sweeps, leader_balance
from falkirk.node.metadata_log import metadata_applier
from falkirk.simulation.machine.disk import CrashOutcome
from falkirk.simulation.plans.fault_plan import FaultPlan
from falkirk.simulation.plans.scenario import Scenario
from falkirk.simulation.run import CrashPoint, simulate
from falkirk.simulation.views.marks import MARKS
from falkirk.versions.release import Release

# They reach many of the marks in little time.
SEEDS = (0, 5, 8, 11, 14, 17, 18)
LONG_CHUNKS = 40
SEEDS_IN_A_LONG_CHUNK = 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_happens_nothing_is_wrong_lost_or_stuck(seed):
    passed(simulate, [seed])


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_nodes_that_do_little_in_a_step_do_no_worse(monkeypatch, seed):
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", 1)
    monkeypatch.setattr(metadata_applier, "RECORDS_MAX", 1)
    # Leaders crash between slices, too: what follows a broker's change is finished by the next one.
    monkeypatch.setattr(broker_sweeps, "PARTITIONS_PER_SLICE", 1)
    monkeypatch.setattr(leader_balance, "PARTITIONS_PER_SLICE", 1)
    passed(simulate, [seed])


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("chunk", range(LONG_CHUNKS))
def test_whatever_happens_for_long_nothing_is_wrong_lost_or_stuck(chunk):
    first = 1000 + chunk * SEEDS_IN_A_LONG_CHUNK
    passed(simulate, range(first, first + SEEDS_IN_A_LONG_CHUNK))


@pytest.mark.slow
@pytest.mark.full
def test_all_states_worth_testing_are_reached():
    reach(simulate, range(10_000, 10_400), MARKS)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_run_whatever_the_hash_seed():
    script = (
        "import json; from falkirk.simulation.run import simulate\n"
        "results = [simulate(seed) for seed in (9, 14)] + [simulate(14, has_step_costs=True)]\n"
        "print(json.dumps([[result.digest, result.counts, result.marks, list(result.timeline)] for result in results]))"
    )

    def run(hash_seed: str) -> object:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    first = run("1")
    assert first == run("2")
    assert len({digest for digest, *_ in first}) == 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", [5, 17])
def test_no_step_stalls_a_node(seed):
    result = simulate(seed, has_step_costs=True)
    assert_passed(result)
    assert any("is busy for" in line for line in result.timeline)


@pytest.mark.slow
def test_no_step_stalls_a_controller_of_a_large_cluster():
    assert_passed(simulate(1, scenario=with_large_metadata(), has_step_costs=True))


@pytest.mark.slow
def test_the_digest_does_not_depend_on_whether_the_timeline_is_kept():
    kept, not_kept = simulate(9), simulate(9, keeps_timeline=False)
    assert kept.digest == not_kept.digest
    assert kept.timeline
    assert not not_kept.timeline


SMALL = Scenario(
    releases=(Release.parse("4.3"),) * 3,
    metadata_version=Release.parse("4.3").latest_metadata_version,
    has_dynamic_voters=True,
    spare_count=0,
    joins_itself=False,
    broker_count=1,
    node_releases=(),
    administrator_count=1,
    faults=FaultPlan(kinds=frozenset(), interval_ms=1000),
    faults_ms=2000,
    snapshot_bytes=1500,
    segment_bytes=1500,
)
"""No fault but the crash: elections, records, snapshots and the log's start all fall into its two seconds."""


def crash_at_each_change(node_id: int, outcomes: list[CrashOutcome], *, every: int = 1) -> Counter[str]:
    undisturbed = simulate(5, keeps_timeline=False, scenario=SMALL)
    changes = undisturbed.changes[f"controller-{node_id}"]
    assert changes > 20
    marks: Counter[str] = Counter()
    for change in range(1, changes + 1, every):
        for outcome in outcomes:
            crash = CrashPoint(node_id=node_id, change=change, outcome=outcome)
            result = simulate(5, keeps_timeline=False, scenario=SMALL, crash=crash)
            assert_passed(result, crash)
            assert result.counts["starts"] == undisturbed.counts["starts"] + 1, f"{crash} did not happen"
            marks.update(result.marks)
    return marks


@pytest.mark.slow
def test_a_leader_may_crash_at_some_changes_on_its_disk():
    undisturbed = simulate(5, scenario=SMALL)
    leader = next(line for line in undisturbed.timeline if "state=leader" in line)
    node_id = int(leader.split("controller-")[1][0])
    marks = crash_at_each_change(node_id, [CrashOutcome.WITHIN], every=3)
    assert marks["torn write cut off"]


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("outcome", CrashOutcome)
@pytest.mark.parametrize("node_id", [1, 2, 3])
def test_any_controller_may_crash_before_within_or_after_each_change_on_its_disk(node_id, outcome):
    crash_at_each_change(node_id, [outcome])
