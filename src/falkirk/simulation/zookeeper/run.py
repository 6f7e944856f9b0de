"""One run of KIP-584's mode: brokers on an in-memory ZooKeeper, a time with faults, a time to recover, the verdict."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Final

from falkirk.metadata.zookeeper.broker_znode import broker_path
from falkirk.metadata.zookeeper.controller_znode import CONTROLLER_PATH
from falkirk.metadata.zookeeper.finalized_features import incompatibilities
from falkirk.simulation.history.invariant import InvariantViolatedError
from falkirk.simulation.machine.wire_watch import WireWatch
from falkirk.simulation.machine.world import World
from falkirk.simulation.run import ProgramFailedError, SimulationResult, Verdict
from falkirk.simulation.zookeeper.checkers.answers_are_kept import AnswersAreKept
from falkirk.simulation.zookeeper.checkers.finalized_fits_brokers import FinalizedFitsBrokers
from falkirk.simulation.zookeeper.checkers.incompatible_nodes_stop import IncompatibleNodesStop
from falkirk.simulation.zookeeper.checkers.malformed_stays import MalformedStays
from falkirk.simulation.zookeeper.checkers.minimums_are_justified import MinimumsAreJustified
from falkirk.simulation.zookeeper.checkers.nodes_stop_for_a_reason import INCOMPATIBLE, NodesStopForAReason
from falkirk.simulation.zookeeper.checkers.only_the_controller_writes import OnlyTheControllerWrites
from falkirk.simulation.zookeeper.checkers.reported_features_are_true import ReportedFeaturesAreTrue
from falkirk.simulation.zookeeper.faults import DELAY_MS_MAX, LATE_MS_MAX, ZooKeeperFaults
from falkirk.simulation.zookeeper.scenario import FEATURES, ZooKeeperScenario
from falkirk.simulation.zookeeper.workload.features_administrator import FeaturesAdministrator
from falkirk.simulation.zookeeper.workload.features_client import FeaturesClient
from falkirk.simulation.zookeeper.workload.update_history import UpdateHistory
from falkirk.simulation.zookeeper.world.ensemble import Ensemble
from falkirk.simulation.zookeeper.world.features_truth import FeaturesTruth
from falkirk.simulation.zookeeper.world.hands import Hands
from falkirk.simulation.zookeeper.world.machine import REFRESH_MS, Machine
from falkirk.simulation.zookeeper.world.marks import ZooKeeperMarks
from falkirk.simulation.zookeeper.world.session_link import LinkConditions
from falkirk.zookeeper_node.config.zookeeper_node_config import FEATURES_PATH

if TYPE_CHECKING:
    from falkirk.node.effects import Fact
    from falkirk.simulation.machine.host import Host, Program
    from falkirk.simulation.zookeeper.checkers.zookeeper_checker import ZooKeeperChecker
    from falkirk.simulation.zookeeper.world.ensemble import Transaction
    from falkirk.simulation.zookeeper.world.features_truth import Written
    from falkirk.simulation.zookeeper.world.machine import Writer
    from falkirk.zookeeper_node.session.operations import Answer, Operation, Znode

HEALING_MS: Final = 25_000
_TICK_MS: Final = 50
# Updates required after the last fault before a run may end.
_UPDATES: Final = 2
# How far a controller may be behind its notifications: earlier updates come first, with some responses each.
_GRACE_MS: Final = 300
_ANSWERS_BEFORE: Final = 40
# How long a client may know old features: a late notification or the next refresh, then some requests.
_NEWS_MS_MAX: Final = REFRESH_MS + LATE_MS_MAX + 10 * DELAY_MS_MAX + 500
# Facts that report a defect of the node itself; no injected fault may cause them.
_DEFECTS: Final = frozenset(("handler-failed", "response-cannot-be-written"))


def simulate(seed: int, *, keeps_timeline: bool = True, scenario: ZooKeeperScenario | None = None) -> SimulationResult:
    """Run a seed to its end. The result depends only on the arguments. `scenario`: replaces the seed's own."""
    return _Run(seed, keeps_timeline=keeps_timeline, scenario=scenario).result()


class _Run:
    """One run in progress."""

    def __init__(self, seed: int, *, keeps_timeline: bool, scenario: ZooKeeperScenario | None) -> None:
        self._seed = seed
        self._world = world = World(seed, keeps_timeline=keeps_timeline)
        self._scenario = scenario or ZooKeeperScenario.of(world.chance("scenario"))
        self._marks = ZooKeeperMarks()
        self._ensemble = Ensemble()
        self._truth = FeaturesTruth(self._ensemble, world.clock, FEATURES_PATH)
        self._writers: dict[int, Writer] = {}
        # By machine: the start that registered last.
        self._registered: dict[str, int] = {}
        self._conditions = LinkConditions()
        self._machines = [self._machine(index) for index in range(len(self._scenario.releases))]
        self._by_name = {machine.name: machine for machine in self._machines}
        self._history = UpdateHistory()
        self._administrators = [self._administrator(number, names) for number, names in enumerate(FEATURES, 1)]
        self._clients = [self._client(number) for number in (1, 2)]
        self._hands = Hands(self._ensemble, self._truth, world.chance("hands"), world.timeline, self._marks)
        self._elections = OnlyTheControllerWrites()
        self._stops = NodesStopForAReason(world.clock)
        self._checkers: tuple[ZooKeeperChecker, ...] = (
            self._elections,
            MalformedStays(),
            MinimumsAreJustified(world.clock, self._grace_ms),
            FinalizedFitsBrokers(self._truth, world.clock, self._grace_ms),
            IncompatibleNodesStop(self._truth, world.clock, _NEWS_MS_MAX),
            AnswersAreKept(self._history),
            self._stops,
        )
        world.network.watch = WireWatch((ReportedFeaturesAreTrue(self._truth, self._by_name),))
        self._ensemble.observers.append(self._committed)
        self._truth.observers.append(self._written)

    # --- Machines and clients

    def _machine(self, index: int) -> Machine:
        machine = Machine(
            index + 1,
            self._scenario.first_build(index),
            world=self._world,
            ensemble=self._ensemble,
            conditions=self._conditions,
            marks=self._marks,
            opened=self._writers.__setitem__,
        )
        machine.listeners_to_answers.append(self._answered)
        machine.listeners_to_requests.append(self._requested)
        machine.host.observers.append(self._check)
        machine.host.listeners_to_facts.append(self._hear)
        return machine

    def _administrator(self, number: int, features: tuple[str, ...]) -> FeaturesAdministrator:
        name = f"administrator-{number}"
        administrator = FeaturesAdministrator(
            name,
            {machine.node_id: machine.endpoint for machine in self._machines},
            self._world.chance(name),
            features=features,
            history=self._history,
            marks=self._marks,
            interval_ms=self._scenario.update_interval_ms,
        )
        self._world.add_host(name, {}, lambda _: administrator)
        return administrator

    def _client(self, number: int) -> FeaturesClient:
        name = f"client-{number}"
        endpoints = {machine.node_id: machine.endpoint for machine in self._machines}
        client = FeaturesClient(name, endpoints, self._world.chance(name))
        self._world.add_host(name, {}, lambda _: client)
        return client

    # --- The run

    def result(self) -> SimulationResult:
        """Run to the end and return the result."""
        world = self._world
        verdict, problem = Verdict.PASSED, None
        world.timeline.add("world", f"seed {self._seed}: {self._scenario}")
        try:
            problem = self._play()
            if problem is not None:
                verdict = Verdict.STUCK
        except InvariantViolatedError as error:
            verdict, problem = Verdict.WRONG, str(error)
        except Exception:  # noqa: BLE001  whatever a program raises ends the run, and is the result
            verdict, problem = Verdict.CRASHED, traceback.format_exc()
        world.timeline.add("world", f"{verdict.value}{': ' + problem if problem else ''}")
        return SimulationResult(
            seed=self._seed,
            scenario=str(self._scenario),
            verdict=verdict,
            problem=problem,
            simulated_ms=world.clock.now_ms,
            digest=f"{world.timeline.digest:08x}",
            timeline=world.timeline.lines,
            counts=self._counts(),
            marks=dict(sorted(self._marks.counts.items())),
            changes={},
        )

    def _play(self) -> str | None:
        """Return what has not recovered in the end; None if all has."""
        world = self._world
        for host in world.hosts.values():
            host.start()
        self._tick()
        faults = ZooKeeperFaults(
            self._scenario,
            world,
            machines=self._machines,
            conditions=self._conditions,
            ensemble=self._ensemble,
            hands=self._hands,
            leads=self._leads,
            marks=self._marks,
        )
        faults.begin()
        world.run(self._scenario.faults_ms)
        faults.end()
        healed_at_ms, done = world.clock.now_ms, self._history.done
        is_disabled = not any(machine.has_features for machine in self._machines)
        world.run(healed_at_ms + HEALING_MS, until=lambda: is_disabled or self._history.done >= done + _UPDATES)
        for administrator in self._administrators:
            administrator.is_over = True
        quiet_at_ms = world.clock.now_ms
        world.run(quiet_at_ms + HEALING_MS, until=lambda: self._unsettled(quiet_at_ms) is None)
        return self._unsettled(quiet_at_ms)

    def _unsettled(self, since_ms: int) -> str | None:
        """Return what has not yet recovered; None if all has."""
        down = [machine.name for machine in self._machines if not machine.host.is_up]
        if down:
            return f"down: {', '.join(down)}"
        leaders = [machine.name for machine in self._machines if self._leads(machine)]
        if len(leaders) != 1:
            return f"controllers: {', '.join(leaders) or 'none'}"
        unregistered = [machine.name for machine in self._machines if not self._is_registered(machine)]
        if unregistered:
            return f"not registered: {', '.join(unregistered)}"
        return self._unreported(since_ms)

    def _unreported(self, since_ms: int) -> str | None:
        """Return which client has not received the current features from which broker; None if all have."""
        now = self._truth.now
        if now.znode is None or now.state is None:
            return f"features: {now.znode}"
        levels = {name: (each.min_level, each.max_level) for name, each in now.state.features.items()}
        for client in self._clients:
            for machine in self._machines:
                epoch, reported, at_ms = client.reported.get(machine.node_id, (-1, {}, -1))
                if at_ms <= since_ms:
                    return f"{client.name} has received nothing from {machine.name}"
                is_served = machine.has_features and now.state.is_enabled
                if is_served and (epoch, reported) != (now.znode.version, levels):
                    return f"{machine.name} tells {reported} of epoch {epoch}, not {levels} of {now.znode.version}"
        return None

    # --- Observations

    def _leads(self, machine: Machine) -> bool:
        znode = self._ensemble.znode(CONTROLLER_PATH)
        return znode is not None and self._is_own(machine, znode)

    def _is_registered(self, machine: Machine) -> bool:
        znode = self._ensemble.znode(broker_path(machine.node_id))
        return znode is not None and self._is_own(machine, znode)

    def _is_own(self, machine: Machine, znode: Znode) -> bool:
        return machine.link is not None and znode.ephemeral_owner == machine.link.session_id

    def _tick(self) -> None:
        """Expire sessions, and run the periodic checks."""
        for session_id in self._ensemble.expire_silent(self._world.clock.now_ms):
            self._marks.add("session expired by silence")
            self._world.timeline.add("ZooKeeper", f"the session of {self._writers[session_id].name} has expired")
        for machine in self._machines:
            if machine.host.is_up:
                for checker in self._checkers:
                    checker.tick(machine)
        self._world.clock.after(_TICK_MS, self._tick)

    def _committed(self, transaction: Transaction) -> None:
        writer = self._writers.get(transaction.session_id)
        for change in transaction.changes:
            if writer is not None and writer.is_alive and change.path == broker_path(writer.machine.node_id):
                self._count_registration(writer.machine)
        for checker in self._checkers:
            checker.committed(transaction, writer)

    def _count_registration(self, machine: Machine) -> None:
        self._registered[machine.name] = machine.host.starts
        state = self._truth.now.state
        if state is not None and machine.has_features and incompatibilities(machine.supported, state):
            self._marks.add("incompatible broker registered")

    def _written(self, transaction: Transaction, before: Written, after: Written) -> None:
        writer = self._writers.get(transaction.session_id)
        text = after.znode.data.decode("utf-8", "replace") if after.znode is not None else "nothing"
        epoch = after.znode.version if after.znode is not None else -1
        self._world.timeline.add("ZooKeeper", f"{writer.name if writer else 'by hand'}: epoch {epoch}: {text}")
        self._marks.written(before, after, is_by_hand=writer is None)
        for checker in self._checkers:
            checker.features_written(writer, before, after)

    def _requested(self, machine: Machine, operation: Operation) -> None:
        for checker in self._checkers:
            checker.requested(machine, operation)

    def _answered(self, machine: Machine, operation: Operation, answer: Answer) -> None:
        self._marks.answered(operation, answer, FEATURES_PATH)
        for checker in self._checkers:
            checker.heard(machine, operation, answer)

    def _check(self, host: Host, program: Program) -> None:  # noqa: ARG002  as Host.observers
        if host.stopped is not None:
            reason = self._stops.stopped(self._by_name[host.name], host.stopped)
            self._marks.add(f"node stopped: {reason}")
            if reason == INCOMPATIBLE and self._registered.get(host.name) == host.starts:
                self._marks.add("node stopped by a change")

    def _hear(self, host: Host, fact: Fact) -> None:
        if fact.event == "brokers-ignored":
            self._marks.add("incompatible broker ignored")
        if fact.event in _DEFECTS:
            fields = "\n".join(f"{key}={value}" for key, value in fact.fields.items())
            raise ProgramFailedError(f"{host.name} tells of {fact.event}\n{fields}")

    def _grace_ms(self) -> int:
        return _GRACE_MS + _ANSWERS_BEFORE * self._conditions.delay_ms_max

    def _counts(self) -> dict[str, int]:
        hosts = self._world.hosts.values()
        return {
            **self._world.network.counts,
            "steps": sum(host.steps for host in hosts),
            "starts": sum(host.starts for host in hosts),
            "elections": self._elections.elections,
            "features written": len(self._truth.writes) - 1,
            "requested": len(self._history.updates),
            "done": self._history.done,
            "refused": self._history.refused,
            "older reported": sum(client.older for client in self._clients),
        }
