"""Small clusters whose nodes move between releases, and short ways to what an operator does with them."""

from falkirk.simulation.faults import FaultPlan
from falkirk.simulation.rolls.plan import Pause, Restart, RollPlan, SetLevel
from falkirk.simulation.run import SimulationResult, Verdict, simulate
from falkirk.simulation.scenario import Scenario
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
