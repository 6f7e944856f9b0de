"""The faults of a run on ZooKeeper, and when they happen. `session_link` begins with the fault model."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.node.events import ShutdownRequested
from falkirk.simulation.zookeeper import scenario as kinds
from falkirk.simulation.zookeeper.world.machine import SESSION_TIMEOUT_MS
from falkirk.zookeeper_node.session.operations import Multi

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.simulation.machine.world import World
    from falkirk.simulation.zookeeper.scenario import ZooKeeperScenario
    from falkirk.simulation.zookeeper.world.ensemble import Ensemble
    from falkirk.simulation.zookeeper.world.hands import Hands
    from falkirk.simulation.zookeeper.world.machine import Machine
    from falkirk.simulation.zookeeper.world.marks import ZooKeeperMarks
    from falkirk.simulation.zookeeper.world.session_link import LinkConditions
    from falkirk.zookeeper_node.session.operations import Operation

LATE_MS_MAX: Final = 1500
DELAY_MS_MAX: Final = 60
_DOWN_MS_MAX: Final = 2500
# Durations of faults that end by themselves.
_LASTS_MS: Final = (100, SESSION_TIMEOUT_MS // 2, SESSION_TIMEOUT_MS + 500, 5000)
# How far lagging servers are behind.
_LAG_MS: Final = 1500
_MENDED_AFTER_MS: Final = 2500
# Probability that ZooKeeper is down, or refuses writes, when a node starts.
_FAILS_AT_START: Final = 0.15
# Probability of each kind of fault at a write of the controller.
_FAILS_AT_WRITE: Final = 0.05


class ZooKeeperFaults:
    """Injects faults until `end`, which repairs everything. `leads`: returns whether a machine is the controller."""

    def __init__(
        self,
        scenario: ZooKeeperScenario,
        world: World,
        *,
        machines: Sequence[Machine],
        conditions: LinkConditions,
        ensemble: Ensemble,
        hands: Hands,
        leads: Callable[[Machine], bool],
        marks: ZooKeeperMarks,
    ) -> None:
        self._scenario = scenario
        self._world = world
        self._chance = world.chance("faults")
        self._machines = machines
        self._conditions = conditions
        self._ensemble = ensemble
        self._hands = hands
        self._leads = leads
        self._marks = marks
        self._is_over = False
        self._events: dict[str, Callable[[Machine], None]] = {
            kinds.LOST_WATCHES: self._lose_watches,
            kinds.EXPIRIES: self._expire,
            kinds.PARTITIONS: self._cut_off,
            kinds.READ_ONLY_SERVERS: self._strand,
            kinds.CRASHES: self._crash,
            kinds.FREEZES: self._freeze,
            kinds.NEW_BUILDS: self._replace,
            kinds.MOVED_CONTROLLERS: lambda _: self._hands.move_controller(),
            kinds.EDITED_FEATURES: self._spoil,
        }

    def begin(self) -> None:
        """Apply the planned conditions, and schedule the first event."""
        chosen, network, sessions = self._scenario.kinds, self._world.network.conditions, self._conditions
        if kinds.SLOW_NETWORK in chosen:
            network.delay_ms_max = self._chance.choice((20, 100))
        if kinds.BROKEN_NETWORK in chosen:
            network.breaks = self._chance.choice((0.01, 0.05))
        if kinds.SLOW_ANSWERS in chosen:
            sessions.delay_ms_max = self._chance.choice((20, DELAY_MS_MAX))
        if kinds.BROKEN_SESSIONS in chosen:
            sessions.breaks = self._chance.choice((0.01, 0.05))
        if kinds.LATE_NOTIFICATIONS in chosen:
            sessions.late_notifications, sessions.late_ms_max = self._chance.choice((0.1, 0.5)), LATE_MS_MAX
        for machine in self._machines:
            machine.listeners_to_requests.append(self._fault_on_write)
        if kinds.LAGGING_SERVERS in chosen:
            self._lag()
        self._restart_stopped()
        if any(kind in chosen for kind in self._events):
            self._plan_next()

    def end(self) -> None:
        """Repair everything, and restart machines that are down until all are up."""
        self._is_over = True
        self._world.timeline.add("world", "faults end")
        self._world.network.conditions.delay_ms_max = 4
        self._world.network.conditions.breaks = 0.0
        self._conditions.delay_ms_max = 4
        self._conditions.breaks = self._conditions.late_notifications = 0.0
        self._conditions.lagging = None
        for machine in self._machines:
            if machine.link is not None:
                machine.link.heal()
                machine.link.unstrand()
        self._hands.mend()

    def _plan_next(self) -> None:
        self._world.clock.after(1 + self._chance.randrange(0, 2 * self._scenario.interval_ms), self._next)

    def _next(self) -> None:
        if self._is_over:
            return
        leaders = [machine for machine in self._machines if self._leads(machine)]
        of = leaders if leaders and self._chance.random() < 0.5 else self._machines
        machine = self._chance.choice(of)
        kind = self._chance.choice([kind for kind in self._events if kind in self._scenario.kinds])
        if machine.host.is_up:
            self._events[kind](machine)
        self._plan_next()

    def _lag(self) -> None:
        """Update the lagging servers to the current state."""
        if not self._is_over:
            self._conditions.lagging = self._ensemble.as_it_stands()
            self._world.clock.after(_LAG_MS, self._lag)

    def _fault_on_write(self, machine: Machine, operation: Operation) -> None:
        """Stop or depose a controller while it writes."""
        if self._is_over or not isinstance(operation, Multi) or not self._leads(machine):
            return
        ways = {
            kinds.CRASHES: ("controller crashed while it wrote", lambda: self._crash(machine)),
            kinds.EXPIRIES: ("controller's session ended while it wrote", lambda: self._expire(machine)),
            kinds.MOVED_CONTROLLERS: ("controller moved while it wrote", self._hands.move_controller),
        }
        for kind in sorted(ways.keys() & self._scenario.kinds):
            if self._chance.random() < _FAILS_AT_WRITE:
                mark, action = ways[kind]
                life = machine.host.starts
                self._world.clock.after(
                    self._chance.randrange(1, 3 * self._conditions.delay_ms_max),
                    partial(self._while_writing, machine, life, mark, action),
                )

    def _while_writing(self, machine: Machine, life: int, mark: str, action: Callable[[], None]) -> None:
        if machine.host.is_up and machine.host.starts == life and not self._is_over:
            self._marks.add(mark)
            action()

    # --- Machines that are down

    def _restart_stopped(self) -> None:
        """Restart machines after a while; after the faults, with builds compatible with everything."""
        for machine in self._machines:
            if not machine.host.is_up:
                after_ms = self._chance.randrange(1, _DOWN_MS_MAX)
                self._world.clock.after(after_ms, partial(self._start, machine, machine.host.starts))
        self._world.clock.after(_DOWN_MS_MAX, self._restart_stopped)

    def _start(self, machine: Machine, starts: int) -> None:
        if machine.host.is_up or machine.host.starts != starts:
            return
        stopped = machine.host.stopped
        has_failed = stopped is not None and stopped.exit_code != 0
        if has_failed and (self._is_over or self._chance.random() < 0.5):
            machine.build = replace(machine.build, supported=kinds.EVERYTHING)
        elif kinds.NEW_BUILDS in self._scenario.kinds and not self._is_over:
            machine.build = self._scenario.next_build(machine.build, self._chance)
        self._note(machine, f"is now {machine.build}")
        machine.host.start()
        if not self._is_over and self._chance.random() < _FAILS_AT_START:
            ways = {kinds.PARTITIONS: self._cut_off, kinds.READ_ONLY_SERVERS: self._strand}
            for kind in sorted(ways.keys() & self._scenario.kinds):
                ways[kind](machine)

    # --- Kinds of faults

    def _lose_watches(self, machine: Machine) -> None:
        if machine.link is not None and machine.link.lose_watches():
            self._marks.add("watches lost")
            self._note(machine, "loses its watches")

    def _expire(self, machine: Machine) -> None:
        leads = self._leads(machine)
        if machine.link is not None and machine.link.expire():
            self._marks.add("controller's session ended by ZooKeeper" if leads else "session ended by ZooKeeper")
            self._note(machine, "has its session ended by ZooKeeper")

    def _cut_off(self, machine: Machine) -> None:
        link = machine.link
        if link is None or link.is_cut_off:
            return
        for_ms = self._chance.choice(_LASTS_MS)
        self._marks.add("controller cut off from ZooKeeper" if self._leads(machine) else "cut off from ZooKeeper")
        self._note(machine, f"is cut off from ZooKeeper for {for_ms} ms")
        link.cut_off()
        self._world.clock.after(for_ms, link.heal)

    def _strand(self, machine: Machine) -> None:
        link = machine.link
        if link is None:
            return
        for_ms = self._chance.choice(_LASTS_MS)
        self._note(machine, f"has to do with a read-only server for {for_ms} ms")
        link.strand()
        self._world.clock.after(for_ms, link.unstrand)

    def _crash(self, machine: Machine) -> None:
        self._marks.add("controller crashed" if self._leads(machine) else "broker crashed")
        machine.crash()

    def _freeze(self, machine: Machine) -> None:
        for_ms = self._chance.choice(_LASTS_MS)
        self._marks.add("frozen")
        self._note(machine, f"is frozen for {for_ms} ms")
        machine.freeze(for_ms)

    def _replace(self, machine: Machine) -> None:
        self._marks.add("orderly restart")
        machine.host.deliver(ShutdownRequested())

    def _spoil(self, machine: Machine) -> None:  # noqa: ARG002  as the others
        # Rare, because every such edit hides other faults.
        if self._chance.random() < 0.4:
            self._hands.spoil()
            self._world.clock.after(self._chance.randrange(100, _MENDED_AFTER_MS), self._hands.mend)

    def _note(self, machine: Machine, text: str) -> None:
        self._world.timeline.add(machine.name, text)
