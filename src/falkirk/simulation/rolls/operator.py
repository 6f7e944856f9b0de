"""Executes a roll plan, and starts no step before an operator is allowed to.

The operator sees only what a real one sees: which process runs on a host, what controllers answer, and how far a
node's metadata log has advanced.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, assert_never

from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.simulation.history.invariant import InvariantViolatedError
from falkirk.simulation.plans.roll_plan import (
    GHOST_ID,
    AskTooEarly,
    Pause,
    Restart,
    SetFeature,
    SetLevel,
    StartTooEarly,
    runs_level,
)
from falkirk.simulation.rolls.feature_questions import (
    feature_update,
    level_answer,
    level_update,
    lowered_features,
    unregistration,
)
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from falkirk.protocol.schema import WireMessage
    from falkirk.simulation.cluster.simulated_cluster import Cluster
    from falkirk.simulation.history.feature_history import FeatureHistory, LevelAnswer
    from falkirk.simulation.machine.host import Host
    from falkirk.simulation.machine.world import World
    from falkirk.simulation.plans.roll_plan import RollPlan, Step
    from falkirk.simulation.views.level_watch import LevelWatch
    from falkirk.simulation.views.marks import Marks
    from falkirk.simulation.workload.feature_administrator import FeatureAdministrator
    from falkirk.simulation.workload.operation import Operation
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release

    # Conditions to wait for, in order; each is polled until it holds.
    Waiting: TypeAlias = Iterator[Callable[[], bool]]

_POLL_MS: Final = 20
_RETRY_MS: Final = 300
# The message of a node that does not support what is finalized.
CLEAR_LINE: Final = re.compile(
    r"only supports versions|No MetadataVersion with feature level|Unknown metadata id|Can't read version"
    r"|does not know metadata\.version level|data_version is|does not support what the cluster has finalized"
)


class Operator:
    """Works from `begin` on until its plan is done. `refused` reports nodes that do not run to it."""

    def __init__(
        self,
        plan: RollPlan,
        *,
        world: World,
        cluster: Cluster,
        levels: LevelWatch,
        history: FeatureHistory,
        marks: Marks,
    ) -> None:
        self._world = world
        self._cluster = cluster
        self._plan = plan
        self._levels = levels
        self._history = history
        self._marks = marks
        self._script: Iterator[Callable[[], bool]] = iter(())
        self._awaited: Callable[[], bool] = lambda: True
        self._answer: tuple[WireMessage, int] | None = None
        self._too_early: int | None = None
        self._refusals = 0
        self.doing: str | None = "nothing yet"
        self.last_refusal = ""
        # Why the plan was abandoned; None if it was not.
        self.gave_up: str | None = None

    @property
    def is_done(self) -> bool:
        """True when no step is left."""
        return self.doing is None

    @property
    def answers(self) -> list[LevelAnswer]:
        """The controllers' answers to updates of a level."""
        return self._history.answers

    def begin(self) -> None:
        """Start with the first step."""
        self._script = self._play()
        self._tick()

    def refused(self, host: Host, reason: str) -> bool:
        """Record that a node does not run, and return whether the operator expects that."""
        node_id = self._cluster.node_id_of(host)
        if node_id is None or node_id != self._too_early or CLEAR_LINE.search(reason) is None:
            return False
        self._refusals += 1
        self._marks.add("node stopped that could not run what is finalized")
        return True

    # --- The plan

    def _tick(self) -> None:
        while self._awaited():
            awaited = next(self._script, None)
            if awaited is None:
                self.doing = None
                self._world.timeline.add("operator", "is done")
                return
            self._awaited = awaited
        self._world.clock.after(_POLL_MS, self._tick)

    def _play(self) -> Waiting:
        yield lambda: self._levels.level is not None
        if self._plan.has_ghost:
            yield from self._make_ghost()
        for step in self._plan.steps:
            self.doing = str(step)
            self._world.timeline.add("operator", self.doing)
            yield from self._do(step)
            if self.gave_up is not None:
                return

    def _do(self, step: Step) -> Waiting:
        match step:
            case Restart():
                for node_id in step.node_ids:
                    yield from self._restart(node_id, step.release, kills=step.kills)
            case SetLevel():
                yield from self._set_level(step)
            case SetFeature():
                yield from self._set_feature(step)
            case StartTooEarly():
                yield from self._start_too_early(step)
            case AskTooEarly():
                yield from self._ask_too_early(step.to)
            case Pause():
                yield self._over(step.for_ms)
            case _:
                assert_never(step)

    # --- Processes

    def _restart(self, node_id: int, release: Release, *, kills: bool) -> Waiting:
        if not self._may_run(node_id, release):
            self._marks.add("node waited for before an older release was started")
        yield lambda: self._may_run(node_id, release)
        host = self._cluster.host_of(node_id)
        self._cluster.forget_bootstrap(node_id)
        yield from self._run_as(host, node_id, release, kills=kills)
        yield lambda: self._is_up(host) and self._cluster.is_registered_as_it_is(node_id)

    def _run_as(self, host: Host, node_id: int, release: Release, *, kills: bool) -> Waiting:
        starts = host.starts
        self._cluster.releases[node_id] = release
        if host.is_up and kills:
            host.crash("killed by the operator")
        elif host.is_up:
            self._cluster.shut_down(host)
        yield lambda: not host.is_up or host.starts > starts
        if host.starts == starts:
            host.start()

    def _is_up(self, host: Host) -> bool:
        """Start the host if it is down, and return whether it is up. A start by anyone else uses the same release."""
        if not host.is_up:
            host.disk.error = None
            host.start()
        return host.is_up

    def _may_run(self, node_id: int, release: Release) -> bool:
        """Return whether a release can read the finalized level and everything on the node's disk."""
        level = self._levels.level
        if level is None or not runs_level(release, level):
            return False
        # The old level is gone once the log starts at the snapshot that follows the lowering.
        ends = [each.end_offset for each in self._levels.lowerings if not runs_level(release, each.before)]
        replica = self._cluster.replicas.get(node_id)
        return replica is not None and replica.log.start_offset >= max(ends, default=0)

    def _start_too_early(self, step: StartTooEarly) -> Waiting:
        node_id, refusals = step.node_id, self._refusals
        host, before = self._cluster.host_of(node_id), self._cluster.releases[node_id]
        yield lambda: host.is_up
        self._too_early = node_id
        if not step.keeps_bootstrap:
            self._cluster.forget_bootstrap(node_id)
        yield from self._run_as(host, node_id, step.release, kills=False)
        yield lambda: self._has_refused(host, refusals)
        self._cluster.releases[node_id] = before
        self._too_early = None
        if host.is_up:
            host.crash("killed by the operator")
        yield lambda: self._is_up(host) and self._cluster.is_registered_as_it_is(node_id)

    def _has_refused(self, host: Host, refusals: int) -> bool:
        """Start the host until the node refuses; it may run until it reads what it does not support."""
        if self._refusals == refusals:
            self._is_up(host)
        return self._refusals > refusals

    # --- Features

    def _set_level(self, step: SetLevel) -> Waiting:
        at, to = self._levels.level, step.to
        is_lowered = at is not None and to < at
        kind = UpgradeType.SAFE_DOWNGRADE if is_lowered else UpgradeType.UPGRADE
        end_ms = None if step.patience_ms is None else self._world.clock.now_ms + step.patience_ms
        if is_lowered:
            yield from self._ask_for(step, kind, is_dry_run=True)
        while True:
            yield from self._ask_for(step, kind, is_dry_run=False)
            answer = self.answers[-1]
            if not answer.message:
                break
            self.last_refusal = answer.message
            is_over = end_ms is not None and self._world.clock.now_ms >= end_ms
            # Within its patience it waits: replicas rejoin the ISR, leaders are elected.
            may_lose = is_over or (end_ms is None and answer.is_known)
            if answer.loses and may_lose and kind is not UpgradeType.UNSAFE_DOWNGRADE:
                kind = UpgradeType.UNSAFE_DOWNGRADE
            elif is_over:
                self.gave_up = answer.message
                return
            yield from self._remove_ghost(answer)
            yield self._over(_RETRY_MS)
        self._marks.add("metadata.version lowered" if is_lowered else "metadata.version raised")
        yield lambda: self._levels.level == to

    def _set_feature(self, step: SetFeature) -> Waiting:
        is_raised = step.to > (self._cluster.finalized_features or {}).get(step.name, 0)
        kind = UpgradeType.UPGRADE if is_raised else UpgradeType.SAFE_DOWNGRADE
        while True:
            yield from self._ask(feature_update(step.name, step.to, kind))
            assert self._answer is not None, "it was waited for"
            answer = level_answer(None, kind, self._answer[0], is_dry_run=False)
            if not answer.message:
                break
            self.last_refusal = answer.message
            if answer.loses and not is_raised:
                kind = UpgradeType.UNSAFE_DOWNGRADE
            yield from self._remove_ghost(answer)
            yield self._over(_RETRY_MS)
        if step.name == ELIGIBLE_LEADER_REPLICAS_VERSION:
            self._marks.add(f"{step.name} {'raised' if is_raised else 'lowered'}")

    def _ask_for(self, step: SetLevel, kind: UpgradeType, *, is_dry_run: bool) -> Waiting:
        others = dict.fromkeys(step.switched_off, 0)
        if step.release is not None and kind is not UpgradeType.UPGRADE:
            yield lambda: self._cluster.finalized_features is not None
            others |= lowered_features(self._cluster.finalized_features or {}, step.release)
        yield from self._ask(level_update(step.to, others, kind, self._history, is_dry_run=is_dry_run))
        assert self._answer is not None, "it was waited for"
        self.answers.append(level_answer(step.to, kind, self._answer[0], is_dry_run=is_dry_run))

    def _ask_too_early(self, to: MetadataVersion) -> Waiting:
        # A node that has not registered holds nothing up: no broker, nor a minority of voters.
        yield self._cluster.are_all_registered
        yield from self._ask_for(SetLevel(to=to), UpgradeType.UPGRADE, is_dry_run=False)
        if not self.answers[-1].message:
            raise InvariantViolatedError("LevelsWaitForAllNodes", f"{to} was finalized before all nodes support it")

    def _ask(self, operation: Operation) -> Waiting:
        self._answer = None
        self._administrator.ask(operation, self._receive)
        yield lambda: self._answer is not None

    def _receive(self, response: WireMessage, error: int) -> None:
        self._answer = response, error

    @property
    def _administrator(self) -> FeatureAdministrator:
        return self._cluster.feature_administrator

    # --- A broker that is gone

    def _make_ghost(self) -> Waiting:
        self.doing = "waits for a broker that will be gone"
        yield lambda: self._cluster.is_broker_unfenced(GHOST_ID)
        self._cluster.ghost.crash("is gone for good")
        yield lambda: not self._cluster.is_broker_unfenced(GHOST_ID)

    def _remove_ghost(self, answer: LevelAnswer) -> Waiting:
        """Unregister the ghost if it is what blocks the update."""
        if any(blocker.get("node_id") == GHOST_ID for blocker in answer.details.blockers):
            self._marks.add("level kept back by a ghost")
            yield from self._ask(unregistration(GHOST_ID))

    def _over(self, for_ms: int) -> Callable[[], bool]:
        end_ms = self._world.clock.now_ms + for_ms
        return lambda: self._world.clock.now_ms >= end_ms
