"""Clusters on worn hardware: bits that flip, clocks that are set back, disks that are slow; no other faults."""

from dataclasses import replace

from falkirk.simulation.machine.world import World
from falkirk.simulation.plans.fault_plan import FaultPlan
from falkirk.simulation.plans.scenario import Scenario

_INTERVAL_MS = 800


def worn(seed: int, *kinds: str, has_data: bool) -> Scenario:
    """The cluster of a seed, with kinds of WORN in place of its own faults.

    With `has_data` that of the next seed that has data.
    """
    chance = World(seed).chance
    scenario = Scenario.of(chance("scenario"))
    while has_data and scenario.data is None:
        scenario = scenario.with_data(World(seed).chance("data"))
        seed += 1
    return replace(scenario, faults=FaultPlan(kinds=frozenset(kinds), interval_ms=_INTERVAL_MS))
