"""A crash at every change on a disk while metadata.version is lowered, of every kind of node; and other faults."""

import sys

import pytest
from rolling_clusters import level, lines, played, roll, scenario

from falkirk import slices
from falkirk.simulation.machine.disk import CrashOutcome
from falkirk.simulation.plans.fault_plan import FaultPlan
from falkirk.simulation.plans.roll_plan import Pause, RollPlan, SetLevel
from falkirk.simulation.plans.scenario import Scenario
from falkirk.simulation.run import CrashPoint, Verdict, simulate
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release

SEED = 5
# The level is asked for in between, answered, and every node has its snapshot.
BEFORE_MS, AFTER_MS = 2500, 3000
AFTER_SNAPSHOT_MS = 3200
LEADER, FOLLOWER, BROKER = 1, 2, 21


@pytest.fixture(autouse=True)
def small_slices(monkeypatch):
    """Spread a lowering over several steps, small as the clusters are."""
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", 2)


def lowering(faults_ms: int = AFTER_MS) -> Scenario:
    plan = RollPlan(steps=(Pause(for_ms=1400), level("3.9"), roll("3.9")))
    return scenario(roll=plan, faults_ms=faults_ms)


def host(node_id: int) -> str:
    return f"{'broker' if node_id == BROKER else 'controller'}-{node_id}"


def changes_while_lowering(node_id: int) -> range:
    before, after = (simulate(SEED, scenario=lowering(ms)).changes[host(node_id)] for ms in (BEFORE_MS, AFTER_MS))
    return range(before + 1, after + 1)


def crash_at_each(node_id: int, outcomes, *, every: int = 1) -> int:
    """Crash at each change, or every so many; return how many crashes there were."""
    points = [
        CrashPoint(node_id=node_id, change=change, outcome=outcome)
        for change in changes_while_lowering(node_id)[::every]
        for outcome in outcomes
    ]
    for point in points:
        result = simulate(SEED, keeps_timeline=False, scenario=lowering(), crash=point)
        assert result.verdict is Verdict.PASSED, f"{point}\n{result.problem}"
        assert result.marks.get("crash within a change on disk") == 1, f"{point} did not happen"
        assert result.marks["metadata.version lowered"] == 1
    sys.stdout.write(f"{len(points)} crashes of {host(node_id)}\n")
    return len(points)


@pytest.mark.slow
def test_the_level_is_lowered_in_that_time_and_by_that_leader():
    timeline = played(SEED, lowering()).timeline
    written = [line.split()[1] for line in timeline if "undo-bundle-written" in line]
    assert written[0] == host(LEADER), "the leader knows first that it is committed"
    assert sorted(written) == [f"controller-{node_id}" for node_id in (1, 2, 3)]
    times = [float(line.split()[0]) for line in timeline if "lowered" in line or "did try" in line]
    assert BEFORE_MS < min(times) * 1000 < max(times) * 1000 < AFTER_MS


@pytest.mark.slow
def test_a_leader_may_crash_within_the_changes_of_a_lowering():
    assert crash_at_each(LEADER, [CrashOutcome.WITHIN], every=6) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("node_id", [FOLLOWER, BROKER])
def test_those_who_follow_may_crash_within_the_changes_of_a_lowering(node_id):
    assert crash_at_each(node_id, [CrashOutcome.WITHIN], every=12) >= 3


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("outcome", CrashOutcome)
@pytest.mark.parametrize("node_id", [LEADER, FOLLOWER, BROKER])
def test_any_node_may_crash_before_within_or_after_each_change_of_a_lowering(node_id, outcome):
    assert crash_at_each(node_id, [outcome]) >= 15


FAULTS = {
    "partitions": ("partitions", "one-way partitions"),
    "late snapshots and lagging nodes": ("crashes", "slow network", "cut writes"),
    "wiped disks": ("crashes", "wiped disks"),
    "freezes": ("freezes", "clock jumps"),
    "disks": ("disk errors", "crashes at a change on disk"),
    "everything": tuple({"partitions", "crashes", "slow network", "broken connections", "freezes", "restarts"}),
}


def with_faults(name: str) -> Scenario:
    plan = RollPlan(steps=(level("3.9"), roll("3.9"), roll("4.3"), level("4.3"), level("4.0")), has_ghost=True)
    return scenario(roll=plan, faults=FaultPlan(kinds=frozenset(FAULTS[name]), interval_ms=300), faults_ms=12_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["partitions", "late snapshots and lagging nodes"])
def test_the_level_moves_through_faults(name):
    assert played(31, with_faults(name)).marks["metadata.version lowered"] == 2


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("seed", range(40, 60))
@pytest.mark.parametrize("name", FAULTS)
def test_the_level_moves_through_faults_of_many_seeds(name, seed):
    assert played(seed, with_faults(name)).marks["metadata.version lowered"] == 2


@pytest.mark.slow
def test_a_broker_that_cannot_lower_is_led_past_the_change_by_a_snapshot():
    plan = RollPlan(steps=(Pause(for_ms=1500), level("3.9"), roll("3.9")), unlowerable=frozenset({BROKER}))
    result = played(6, scenario(roll=plan))
    installed = [line for line in lines(result, "raft-snapshot-installed") if host(BROKER) in line]
    assert len(installed) == 1


def commit_by_snapshot(controllers: int, faults_ms: int = AFTER_SNAPSHOT_MS + 800) -> Scenario:
    """Controller 1 alone may read the record that lowers the level; all others are like real Kafka."""
    newest = Release.parse("4.3")
    lowered = SetLevel(to=MetadataVersion.parse("3.9"), patience_ms=4000)
    like_kafka = frozenset({*range(2, controllers + 1), BROKER})
    plan = RollPlan(steps=(Pause(for_ms=1400), lowered), unlowerable=like_kafka)
    return scenario(roll=plan, faults_ms=faults_ms, releases=(newest,) * controllers)


@pytest.mark.slow
@pytest.mark.parametrize("controllers", [3, 4])
def test_one_voter_commits_a_lowering_by_a_snapshot(controllers):
    result = played(SEED, commit_by_snapshot(controllers))
    assert result.marks["metadata.version lowered"] == 1
    assert len(lines(result, "provisional-snapshot-kept")) == 1
    installed = {line.split()[1] for line in lines(result, "raft-snapshot-installed")}
    assert installed == {*map(host, range(2, controllers + 1)), host(BROKER)}


@pytest.mark.slow
def test_five_voters_are_too_many_for_it():
    result = played(SEED, commit_by_snapshot(5))
    assert "metadata.version lowered" not in result.marks
    assert not lines(result, "provisional-snapshot")


def snapshot_crashes():
    """The leader, and a voter that may be the first to have the snapshot, at each change on their disks."""
    yield pytest.param(3, LEADER, 4, (CrashOutcome.WITHIN,), {True, False}, id="quick")
    for controllers in (3, 4):
        for node_id in (LEADER, FOLLOWER, controllers):
            outcomes = {True, False} if node_id == LEADER else {True}
            yield pytest.param(
                controllers,
                node_id,
                1,
                tuple(CrashOutcome),
                outcomes,
                marks=pytest.mark.full,
                id=f"{controllers}-{node_id}",
            )


@pytest.mark.slow
@pytest.mark.parametrize(("controllers", "node_id", "every", "kinds", "outcomes"), list(snapshot_crashes()))
def test_a_lowering_by_a_snapshot_holds_or_is_cut_off_whoever_crashes(controllers, node_id, every, kinds, outcomes):
    """A crash before anybody has the snapshot cuts the lowering off; the operator's patience may end then."""
    before, after = (
        simulate(SEED, scenario=commit_by_snapshot(controllers, ms)).changes[host(node_id)]
        for ms in (BEFORE_MS, AFTER_SNAPSHOT_MS)
    )
    found = set()
    for change in range(before + 1, after + 1, every):
        for outcome in kinds:
            point = CrashPoint(node_id=node_id, change=change, outcome=outcome)
            result = simulate(SEED, keeps_timeline=False, scenario=commit_by_snapshot(controllers), crash=point)
            assert result.verdict is Verdict.PASSED, f"{point}\n{result.problem}"
            assert result.marks.get("crash within a change on disk") == 1, f"{point} did not happen"
            found.add(result.marks.get("metadata.version lowered") == 1)
    assert found == outcomes
