"""A machine in the world: its disk, its clock, and the program that runs on it while it is up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, assert_never

from falkirk.node.effects import Close, Connect, Fact, Reconfigured, Send, Started, Stop
from falkirk.node.errors import StartupError
from falkirk.simulation.machine.disk import SimulatedCrashError
from falkirk.simulation.machine.step_costs import StepCost, StepCosts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from falkirk.node.effects import Effect
    from falkirk.node.events import Event
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.simulation.machine.clock import Clock, HostClock
    from falkirk.simulation.machine.disk import SimulatedDisk
    from falkirk.simulation.machine.network import Network
    from falkirk.simulation.machine.timeline import Timeline


class Program(Protocol):
    """A program that runs on a host: a node, or a client of the workload."""

    def step(self, events: Sequence[Event], now_ms: int) -> Sequence[Effect]:
        """Process events and return the effects to execute."""
        ...

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the program wants a step without an event; None: only on an event."""
        ...


class Host:
    """Runs a program; `start` creates it from what the disk holds."""

    def __init__(
        self,
        name: str,
        *,
        listeners: Mapping[str, Endpoint],
        make_program: Callable[[Host], Program],
        world_clock: Clock,
        clock: HostClock,
        disk: SimulatedDisk,
        network: Network,
        timeline: Timeline,
    ) -> None:
        self.name = name
        self.clock = clock
        self.disk = disk
        self.program: Program | None = None
        self.stopped: Stop | None = None
        self.starts = 0
        self.steps = 0
        self.crashes_in_changes = 0
        # Called after each step of the program, the last one too, unless a crash interrupts it.
        self.observers: list[Callable[[Host, Program], None]] = []
        # Called with the reason when a program does not start.
        self.listeners_to_refusals: list[Callable[[Host, str], None]] = []
        # Called with every fact.
        self.listeners_to_facts: list[Callable[[Host, Fact], None]] = []
        # What the last step cost; nothing where steps have no costs.
        self.last_step = StepCost()
        self._costs: StepCosts | None = None
        # Costs less than a millisecond, until they make one.
        self._spent_us = 0
        self._make_program = make_program
        self._listeners = listeners
        self._world_clock = world_clock
        self._network = network
        self._timeline = timeline
        self._inbox: list[Event] = []
        self._wakeup_ms: int | None = None
        self._frozen_until_ms = 0
        self._generation = 0
        # How long a change on the disk takes; what a step says of it leaves when it is over.
        self.disk_ms = 0

    @property
    def is_up(self) -> bool:
        """True while a program runs."""
        return self.program is not None

    def start(self) -> None:
        """Start the program from the disk. A crash during the start leaves the host down."""
        assert self.program is None
        self.starts += 1
        self._generation += 1
        self._inbox = []
        self._wakeup_ms = None
        self.stopped = None
        self._timeline.add(self.name, "starts")
        try:
            self.program = self._make_program(self)
        except SimulatedCrashError:
            self.crashes_in_changes += 1
            self._timeline.add(self.name, "crashes while starting")
            return
        except StartupError as error:
            self._timeline.add(self.name, f"does not start: {error}")
            self.stopped = Stop(1, str(error))
            for notify in self.listeners_to_refusals:
                notify(self, str(error))
            return
        for listener, endpoint in self._listeners.items():
            self._network.listen(self.name, listener, endpoint)
        self._plan_step(self._world_clock.now_ms)

    def crash(self, reason: str) -> None:
        """Kill the program."""
        self._timeline.add(self.name, f"crashes: {reason}")
        self._end()

    def freeze(self, for_ms: int) -> None:
        """Pause the program; events queue up until the pause ends, while the clock advances."""
        self._frozen_until_ms = max(self._frozen_until_ms, self._world_clock.now_ms + for_ms)

    def count_costs(self) -> None:
        """Let steps take as long as they cost from now on: the next one begins no earlier."""
        self._costs = StepCosts()

    def deliver(self, event: Event) -> None:
        """Queue an event and step the program at once."""
        if self.program is not None:
            self._inbox.append(event)
            self._plan_step(self._world_clock.now_ms)

    def wake(self) -> None:
        """Step the program at once: it received something that is not an event."""
        if self.program is not None:
            self._plan_step(self._world_clock.now_ms)

    def _plan_step(self, time_ms: int) -> None:
        time_ms = max(time_ms, self._frozen_until_ms, self._world_clock.now_ms)
        if self._wakeup_ms is not None and self._wakeup_ms <= time_ms:
            return
        self._wakeup_ms = time_ms
        generation = self._generation
        self._world_clock.at(time_ms, lambda: self._step(generation, time_ms))

    def _step(self, generation: int, time_ms: int) -> None:
        if generation != self._generation or self._wakeup_ms != time_ms or self.program is None:
            return
        self._wakeup_ms = None
        if self._world_clock.now_ms < self._frozen_until_ms:
            self._plan_step(self._frozen_until_ms)
            return
        events, self._inbox = self._inbox, []
        program = self.program
        self.steps += 1
        changes = self.disk.changes
        try:
            effects = self._stepped(program, events)
        except SimulatedCrashError:
            self.crashes_in_changes += 1
            self.crash("in the middle of a change on its disk")
            return
        busy_ms = self.disk_ms * (self.disk.changes - changes)
        # A process that ends leaves nothing for later.
        if busy_ms and not any(isinstance(effect, Stop) for effect in effects):
            self.freeze(busy_ms)
            self._world_clock.after(busy_ms, lambda: self._execute_late(generation, effects))
        else:
            self._execute_all(effects)
        self._plan_wakeup()
        for observe in self.observers:
            observe(self, program)

    def _execute_late(self, generation: int, effects: Sequence[Effect]) -> None:
        if generation == self._generation:
            self._execute_all(effects)

    def _execute_all(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            self._execute(effect)

    def _stepped(self, program: Program, events: Sequence[Event]) -> Sequence[Effect]:
        now_ms, costs = self.clock.now_ms, self._costs
        if costs is None:
            return program.step(events, now_ms)
        written = self.disk.bytes_written
        effects = costs.measure(lambda: program.step(events, now_ms))
        self.last_step = costs.last.with_bytes_written(self.disk.bytes_written - written)
        busy_ms, self._spent_us = divmod(self._spent_us + self.last_step.us, 1000)
        if busy_ms:
            self._timeline.add(self.name, f"is busy for {busy_ms} ms")
            self.freeze(busy_ms)
        return effects

    def _plan_wakeup(self) -> None:
        if self.program is not None:
            wakeup_ms = self.program.next_wakeup_ms
            if wakeup_ms is not None:
                # A program that wants to wake up at once must not stop the world's time.
                self._plan_step(max(self.clock.world_ms(wakeup_ms), self._world_clock.now_ms + 1))

    def _execute(self, effect: Effect) -> None:
        match effect:
            case Connect(connection_id, endpoint, _):
                self._network.connect(self.name, connection_id, endpoint)
            case Send(connection_id, data):
                self._network.send(self.name, connection_id, bytes(data))
            case Close(connection_id):
                self._network.close(self.name, connection_id)
            case Fact(level, event, fields):
                text = " ".join(f"{key}={value}" for key, value in fields.items())
                self._timeline.add(self.name, f"{level}: {event} {text}".rstrip())
                for notify in self.listeners_to_facts:
                    notify(self, effect)
            case Started() | Reconfigured():
                pass
            case Stop(exit_code, reason):
                self._timeline.add(self.name, f"stops with {exit_code}: {reason or 'as requested'}")
                self.stopped = effect
                self._end()
            case _:
                assert_never(effect)

    def _end(self) -> None:
        self.program = None
        self._generation += 1
        self._network.host_down(self.name)
