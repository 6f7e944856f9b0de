"""Small clusters whose nodes move between releases, and shorthands for operator actions."""

from falkirk.simulation.plans.fault_plan import FaultPlan
from falkirk.simulation.plans.roll_plan import AskTooEarly, Pause, Restart, RollPlan, SetLevel, StartTooEarly
from falkirk.simulation.plans.scenario import Scenario
from falkirk.simulation.run import SimulationResult, Verdict, simulate
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release

NODES = (1, 2, 3, 21)


def scenario(*steps, **changes) -> Scenario:
    """Three controllers and a broker of 4.3, without faults."""
    newest = Release.parse("4.3")
    fields = {
        "releases": (newest,) * 3,
        "metadata_version": newest.latest_metadata_version,
        "has_dynamic_voters": False,
        "spare_count": 0,
        "joins_itself": False,
        "broker_count": 0,
        "node_releases": (newest,),
        "administrator_count": 1,
        "faults": FaultPlan(kinds=frozenset(), interval_ms=1000),
        "faults_ms": 4000,
        "snapshot_bytes": 2000,
        "segment_bytes": 4000,
        "roll": RollPlan(steps=(Pause(for_ms=1500), *steps)),
    }
    return Scenario(**fields | changes)


def whole_story() -> Scenario:
    """Down, up and down again with everything that an operator meets: most slips show in one or a few runs."""
    newest, older = Release.parse("4.4"), Release.parse("3.9")
    too_much = AskTooEarly(to=newest.latest_metadata_version)
    up = (too_much, Restart(node_ids=(22,), release=newest), level("4.4"), Pause(for_ms=500))
    down = (StartTooEarly(node_id=2, release=Release.parse("4.3")), level("3.9"), roll("3.9"), Pause(for_ms=500))
    up_again = (Restart(node_ids=(21, 1, 2), release=newest), too_much, roll("4.4"), level("4.4"), roll("4.4"))
    steps = (Pause(for_ms=1500), *up, *down, *up_again, level("3.7-IV1"), roll("3.7"))
    return scenario(
        releases=(newest,) * 3,
        node_releases=(newest, older),
        metadata_version=older.latest_metadata_version,
        # No snapshot but those that follow a lowering.
        snapshot_bytes=20 * 1024 * 1024,
        faults_ms=6000,
        roll=RollPlan(steps=steps, has_ghost=True, unlowerable=frozenset({21})),
    )


def roll(release: str) -> Restart:
    return Restart(node_ids=NODES, release=Release.parse(release))


def level(text: str) -> SetLevel:
    return SetLevel(to=MetadataVersion.parse(text))


def played(seed: int, played_scenario: Scenario) -> SimulationResult:
    result = simulate(seed, scenario=played_scenario)
    assert result.verdict is Verdict.PASSED, f"{result.problem}\n" + "\n".join(result.timeline[-30:])
    return result


def lines(result: SimulationResult, text: str) -> list[str]:
    return [line for line in result.timeline if text in line]
