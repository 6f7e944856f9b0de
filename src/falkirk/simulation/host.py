"""A machine in the world: its disk, its clock, and the node that runs on it or does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, assert_never

from falkirk.node.effects import Close, Connect, Fact, Send, Started, Stop
from falkirk.node.errors import StartupError
from falkirk.simulation.disk import SimulatedCrashError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from falkirk.node.effects import Effect
    from falkirk.node.events import Event
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.simulation.clock import Clock, HostClock
    from falkirk.simulation.disk import SimulatedDisk
    from falkirk.simulation.network import Network
    from falkirk.simulation.timeline import Timeline


class Program(Protocol):
    """What runs on a host: a node, or a client of the workload."""

    def step(self, events: Sequence[Event], now_ms: int) -> Sequence[Effect]:
        """Take events in and say what is to be done."""
        ...

    @property
    def next_wakeup_ms(self) -> int | None:
        """When it wants to be stepped without an event; None: not before one comes."""
        ...


class Host:
    """Runs a program; `start` makes it anew from what the disk has."""

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
        # Asked to look at the program after each of its steps, the last one too, if it is not cut off by a crash.
        self.observers: list[Callable[[Host, Program], None]] = []
        # Told why a program would not start.
        self.listeners_to_refusals: list[Callable[[Host, str], None]] = []
        # Told of every fact.
        self.listeners_to_facts: list[Callable[[Host, Fact], None]] = []
        self._make_program = make_program
        self._listeners = listeners
        self._world_clock = world_clock
        self._network = network
        self._timeline = timeline
        self._inbox: list[Event] = []
        self._wakeup_ms: int | None = None
        self._frozen_until_ms = 0
        self._generation = 0

    @property
    def is_up(self) -> bool:
        """Say whether a program runs."""
        return self.program is not None

    def start(self) -> None:
        """Start the program from the disk. A crash while it starts leaves the host down."""
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
            for tell in self.listeners_to_refusals:
                tell(self, str(error))
            return
        for listener, endpoint in self._listeners.items():
            self._network.listen(self.name, listener, endpoint)
        self._plan_step(self._world_clock.now_ms)

    def crash(self, reason: str) -> None:
        """End the program as a power cut does."""
        self._timeline.add(self.name, f"crashes: {reason}")
        self._end()

    def freeze(self, for_ms: int) -> None:
        """Do nothing for a while; then all that came is there at once, and the clock has gone on."""
        self._frozen_until_ms = max(self._frozen_until_ms, self._world_clock.now_ms + for_ms)

    def deliver(self, event: Event) -> None:
        """Give the program an event at its next step, which comes at once."""
        if self.program is not None:
            self._inbox.append(event)
            self._plan_step(self._world_clock.now_ms)

    def wake(self) -> None:
        """Step the program at once: something has come to it by a way of its own."""
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
        try:
            effects = program.step(events, self.clock.now_ms)
        except SimulatedCrashError:
            self.crashes_in_changes += 1
            self.crash("in the middle of a change on its disk")
            return
        for effect in effects:
            self._execute(effect)
        self._plan_wakeup()
        for observe in self.observers:
            observe(self, program)

    def _plan_wakeup(self) -> None:
        if self.program is not None:
            wakeup_ms = self.program.next_wakeup_ms
            if wakeup_ms is not None:
                # A program that wants to wake up at once must not keep the world's time from going on.
                self._plan_step(max(self.clock.world_ms(wakeup_ms), self._world_clock.now_ms + 1))

    def _execute(self, effect: Effect) -> None:
        match effect:
            case Connect(connection_id, endpoint, _):
                self._network.connect(self.name, connection_id, endpoint)
            case Send(connection_id, data):
                self._network.send(self.name, connection_id, data)
            case Close(connection_id):
                self._network.close(self.name, connection_id)
            case Fact(level, event, fields):
                text = " ".join(f"{key}={value}" for key, value in fields.items())
                self._timeline.add(self.name, f"{level}: {event} {text}".rstrip())
                for tell in self.listeners_to_facts:
                    tell(self, effect)
            case Started():
                pass
            case Stop(exit_code, reason):
                self._timeline.add(self.name, f"stops with {exit_code}: {reason or 'as asked'}")
                self.stopped = effect
                self._end()
            case _:
                assert_never(effect)

    def _end(self) -> None:
        self.program = None
        self._generation += 1
        self._network.host_down(self.name)
