"""Rehearses a roll to another release, with its change of level, on the metadata of a real cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from falkirk.protocol.uuid import uuid_text
from falkirk.simulation.machine.world import World
from falkirk.simulation.plans.fault_plan import REPEATED_REQUESTS, WIPED_DISKS, FaultPlan
from falkirk.simulation.plans.roll_plan import Pause, Restart, RollPlan, SetLevel, StartTooEarly, runs_level
from falkirk.simulation.plans.scenario import Scenario
from falkirk.simulation.run import SimulationResult, Verdict, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from falkirk.protocol.chance import Chance
    from falkirk.simulation.plans.rehearsed_cluster import RehearsedCluster
    from falkirk.simulation.plans.roll_plan import Step
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release

_FAULTS_MS: Final = 12_000
# A refusal that lasts this long is not transient.
_PATIENCE_MS: Final = 30_000
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """The results of all runs. Ledger items are those of the active controllers' last answers, each once."""

    runs: tuple[SimulationResult, ...]
    losses: tuple[dict[str, Any], ...]  # Any: JSON values
    inaccessible: tuple[dict[str, Any], ...]  # Any: JSON values
    blockers: tuple[dict[str, Any], ...]  # Any: JSON values

    @property
    def reasons(self) -> list[str]:
        """Return the reasons not to roll, losses apart."""
        found = []
        for run in self.runs:
            if run.verdict is not Verdict.PASSED:
                found.append(f"seed {run.seed}: {run.verdict.value}: {(run.problem or '').strip().splitlines()[-1]}")
            elif run.gave_up is not None:
                found.append(run.gave_up)
        return list(dict.fromkeys(found))


def rehearse(
    cluster: RehearsedCluster,
    to: Release,
    level: MetadataVersion,
    *,
    runs: int,
    is_done: Callable[[SimulationResult], None] = lambda _: None,
) -> Rehearsal:
    """Run seeds from 0 on; the first has no faults. `is_done` is called with each result.

    Losses are accepted, so that the rest of the roll is rehearsed too; the caller judges them.
    """
    results = []
    for seed in range(runs):
        result = simulate(seed, keeps_timeline=False, scenario=rehearsal_scenario(cluster, to, level, seed))
        results.append(result)
        is_done(result)
        if result.gave_up is not None:
            # The next runs would get the same answer.
            break
    # Transient refusals, while nodes start, are no reason.
    details = [
        answer.details
        for result in results
        for answer in result.answers
        if not answer.is_dry_run and (not answer.message or answer is result.answers[-1])
    ]
    return Rehearsal(
        runs=tuple(results),
        losses=_once([item for each in details for item in each.losses if _is_own(item, cluster)]),
        inaccessible=_once([item for each in details for item in each.inaccessible]),
        blockers=_once([item for each in details for item in each.blockers]) if _gave_up(results) else (),
    )


def rehearsal_scenario(cluster: RehearsedCluster, to: Release, level: MetadataVersion, seed: int) -> Scenario:
    """Return the scenario of one run: the cluster as it is, and a plan from the seed."""
    chance = World(seed).chance("rehearsal")
    faults = FaultPlan.of(chance)
    kinds = faults.kinds - {REPEATED_REQUESTS, WIPED_DISKS} if seed else frozenset()
    steps = tuple(_steps(cluster, to, level, chance))
    return Scenario(
        releases=tuple(node.release for node in cluster.nodes if node.is_controller),
        metadata_version=cluster.metadata_version,
        has_dynamic_voters=cluster.has_dynamic_voters,
        spare_count=0,
        joins_itself=False,
        broker_count=0,
        node_releases=tuple(node.release for node in cluster.nodes if not node.is_controller),
        administrator_count=1,
        faults=replace(faults, kinds=frozenset(kinds)),
        faults_ms=_FAULTS_MS,
        # Large metadata is not written to snapshots repeatedly.
        snapshot_bytes=chance.choice((_MIB, 20 * _MIB)),
        segment_bytes=_MIB,
        roll=RollPlan(steps=steps),
        rehearsed=cluster,
    )


def _steps(cluster: RehearsedCluster, to: Release, level: MetadataVersion, chance: Chance) -> Iterator[Step]:
    releases = {node.node_id: node.release for node in cluster.nodes}
    at = cluster.metadata_version
    change = SetLevel(to=level, release=to, patience_ms=_PATIENCE_MS)
    yield Pause(for_ms=2000)
    if level < at:
        if chance.random() < 0.5 and not runs_level(to, at):
            yield StartTooEarly(node_id=chance.choice(list(releases)), release=to)
        yield change
    order = sorted(releases, key=lambda _: chance.random())
    if chance.random() < 0.4:
        half = order[: (len(order) + 1) // 2]
        yield Restart(node_ids=tuple(half), release=to)
        for node_id in half:
            yield Restart(node_ids=(node_id,), release=releases[node_id])
    yield Restart(node_ids=tuple(order), release=to, kills=chance.random() < 0.3)
    if level > at:
        yield change


def _is_own(item: dict[str, Any], cluster: RehearsedCluster) -> bool:  # Any: JSON values
    """Return whether a lost item belongs to the cluster, not to a run's administrator."""
    topic_id = item.get("key_fields", {}).get("topic_id")
    return topic_id is None or topic_id in {uuid_text(each) for each in cluster.image.topics.names}


def _gave_up(results: list[SimulationResult]) -> bool:
    return any(result.gave_up is not None for result in results)


def _once(items: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:  # Any: JSON values
    """Remove duplicates, ignoring fields that differ between runs: offsets, times."""
    return tuple({_identity(item): item for item in items}.values())


def _identity(item: dict[str, Any]) -> tuple[object, ...]:  # Any: JSON values
    names = ("kind", "key", "reason", "node_id", "role", "feature", "incompatible_feature")
    return tuple(item.get(name) for name in names)
