"""The faults of a run: events at random times, of the kinds in its plan."""

from __future__ import annotations

import errno
from functools import partial
from typing import TYPE_CHECKING

from falkirk.node.node import Node
from falkirk.simulation.plans.fault_plan import (
    CLOCKS_SET_BACK,
    POWER_LOSSES,
    REPEATED_REQUESTS,
    ROTTEN_DATA,
    ROTTEN_METADATA,
    SLOW_DISKS,
    WIPED_DISKS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.protocol.chance import Chance
    from falkirk.simulation.machine.clock import Clock
    from falkirk.simulation.machine.host import Host
    from falkirk.simulation.machine.network import Network
    from falkirk.simulation.machine.timeline import Timeline
    from falkirk.simulation.plans.fault_plan import FaultPlan
    from falkirk.simulation.views.marks import Marks

# Share of faults that hit a controller, the rest hit brokers; the second: where brokers hold data.
_SHARE_OF_CONTROLLERS = 0.75, 0.3
# How long a host may stay down after the faults end.
_DOWN_MS_MAX = 1000


class Faults:
    """Injects faults into hosts and network until `end`, which repairs everything.

    `wipe`: replaces a host's disk and returns True if that is safe now. `lost_power`: called with each host that lost
    power. `has_data`: brokers hold data, and write to their disks all the time.
    """

    def __init__(
        self,
        plan: FaultPlan,
        chance: Chance,
        *,
        clock: Clock,
        network: Network,
        controllers: Sequence[Host],
        brokers: Sequence[Host],
        timeline: Timeline,
        shut_down: Callable[[Host], None],
        wipe: Callable[[Host], bool],
        lost_power: Callable[[Host], None],
        marks: Marks,
        has_data: bool,
        log_dirs: Sequence[str],
        metadata_directory: str,
    ) -> None:
        self._plan = plan
        self._chance = chance
        self._clock = clock
        self._network = network
        self._controllers = controllers
        self._brokers = brokers
        self._hosts = [*controllers, *brokers]
        self._timeline = timeline
        self._wipe = wipe
        self._lost_power = lost_power
        self._marks = marks
        self._has_data = has_data
        self._log_dirs = log_dirs
        self._metadata_directory = metadata_directory
        self._is_over = False
        self._starts = True
        self._events: dict[str, Callable[[Host], None]] = {
            "partitions": self._partition,
            "one-way partitions": self._cut_one_way,
            "crashes": self._crash,
            "crashes at a change on disk": self._plan_crash,
            "freezes": self._freeze,
            "clock jumps": self._jump,
            "disk errors": self._fail_disk,
            "restarts": shut_down,
            WIPED_DISKS: self._wipe_disk,
            POWER_LOSSES: self._lose_power,
            ROTTEN_METADATA: self._rot_metadata,
            ROTTEN_DATA: self._rot_data,
            CLOCKS_SET_BACK: self._set_clock_back,
            SLOW_DISKS: self._slow_disk,
        }

    def begin(self) -> None:
        """Apply the planned network conditions, and schedule the first event."""
        kinds, conditions = self._plan.kinds, self._network.conditions
        if "slow network" in kinds:
            conditions.delay_ms_max = self._chance.choice((20, 100, 400))
        if "broken connections" in kinds:
            conditions.breaks = self._chance.choice((0.001, 0.01, 0.05))
        if REPEATED_REQUESTS in kinds:
            conditions.repeats = self._chance.choice((0.01, 0.1))
        if "cut writes" in kinds:
            conditions.cuts_writes = 0.2
        if any(kind in kinds for kind in self._events):
            self._plan_next()

    def end(self) -> None:
        """Repair network, disks and hosts."""
        self._is_over = True
        self._timeline.add("world", "faults end")
        conditions = self._network.conditions
        conditions.delay_ms_max = 4
        conditions.breaks = conditions.repeats = 0.0
        self._network.heal()
        for host in self._hosts:
            host.disk.error = None
            host.disk.changes_until_crash = None
            host.disk_ms = 0
            if _has_offline_directory(host):
                host.crash("an operator restarts it, for a directory is offline")
        self._start_all()

    def leave(self) -> None:
        """Stop starting hosts."""
        self._starts = False

    def _start_all(self) -> None:
        """Start every host that is down, and those whose controlled shutdown ends later."""
        if not self._starts:
            return
        for host in self._hosts:
            if not host.is_up:
                host.start()
        self._clock.after(_DOWN_MS_MAX, self._start_all)

    def _plan_next(self) -> None:
        self._clock.after(1 + self._chance.randrange(0, 2 * self._plan.interval_ms), self._next)

    def _next(self) -> None:
        if self._is_over:
            return
        kinds = [kind for kind in self._events if kind in self._plan.kinds]
        kind = self._chance.choice(kinds)
        is_broker = self._brokers and self._chance.random() >= _SHARE_OF_CONTROLLERS[self._has_data]
        host = self._chance.choice(self._brokers if is_broker else self._controllers)
        if host.is_up:
            self._events[kind](host)
        self._plan_starts()
        self._plan_next()

    def _plan_starts(self) -> None:
        for host in self._hosts:
            if not host.is_up:
                self._clock.after(
                    self._chance.randrange(1, self._plan.downtime_ms_max), partial(self._start, host, host.starts)
                )

    def _start(self, host: Host, starts: int) -> None:
        if not self._is_over and not host.is_up and host.starts == starts:
            host.disk.error = None
            host.start()

    def _crash(self, host: Host) -> None:
        if _leads(host):
            self._marks.leader_crashed()
        host.crash("killed")

    def _lose_power(self, host: Host) -> None:
        if _leads(host):
            self._marks.leader_crashed()
        self._marks.add("power lost")
        host.crash("power cut")
        host.disk.lose_power()
        self._lost_power(host)

    def _rot_metadata(self, host: Host) -> None:
        host.crash("killed, and a bit of its metadata flips")
        if host.disk.flipped is None and host.disk.flip_in_metadata(self._metadata_directory):
            self._marks.add("bit of metadata flipped")
            self._timeline.add(host.name, f"has a flipped bit: {host.disk.flipped}")

    def _rot_data(self, host: Host) -> None:
        program = host.program
        # What was shut down in order is not recovered: nobody looks at it before it is read.
        is_open = isinstance(program, Node) and program.broker is not None and program.broker.replicas.is_started
        if not is_open or host.disk.flipped is not None:
            return
        host.crash("killed, and a bit of its data flips")
        if host.disk.flip_in_data(self._log_dirs):
            self._marks.add("bit of data flipped")
            self._timeline.add(host.name, f"has a flipped bit: {host.disk.flipped}")
            # What is cut off with it may have been acknowledged.
            self._lost_power(host)
            host.disk.flipped = None

    def _set_clock_back(self, host: Host) -> None:
        by_ms = self._chance.choice((50, 5000, 3_600_000))
        if not isinstance(host.program, Node):
            # Scripted programs remember times while they are down.
            return
        host.crash(f"killed, and its clock is set back by {by_ms} ms")
        host.clock.jump(-by_ms)
        self._marks.add("clock set back")

    def _slow_disk(self, host: Host) -> None:
        host.disk_ms = self._chance.choice((5, 50, 500))
        self._marks.add("disk was slow")
        self._timeline.add(host.name, f"takes {host.disk_ms} ms for a change on its disk")
        self._clock.after(self._chance.choice((1000, 8000)), partial(_speed_up, host))

    def _partition(self, host: Host) -> None:
        if self._chance.random() < 0.5:
            self._heal()
            return
        others = [other for other in self._hosts if other is not host and self._chance.random() < 0.7]
        self._timeline.add("world", f"{host.name} is cut off from {', '.join(o.name for o in others) or 'nobody'}")
        for other in others:
            self._network.cut_off(host.name, other.name)
            self._network.cut_off(other.name, host.name)

    def _cut_one_way(self, host: Host) -> None:
        if self._chance.random() < 0.5:
            self._heal()
            return
        other = self._chance.choice(self._hosts)
        if other is not host:
            self._timeline.add("world", f"nothing comes from {host.name} to {other.name} any more")
            self._network.cut_off(host.name, other.name)
            if _leads(host) or _leads(other):
                self._marks.add("leader cut off one way")

    def _heal(self) -> None:
        if self._network.cuts:
            self._timeline.add("world", "the network is whole again")
            self._network.heal()

    def _plan_crash(self, host: Host) -> None:
        is_busy = self._has_data and host in self._brokers
        host.disk.changes_until_crash = self._chance.randrange(1, 150 if is_busy else 12)

    def _freeze(self, host: Host) -> None:
        for_ms = self._chance.choice((100, 1000, 4000))
        self._timeline.add(host.name, f"is frozen for {for_ms} ms")
        host.freeze(for_ms)

    def _jump(self, host: Host) -> None:
        by_ms = self._chance.choice((50, 1500) if host in self._brokers else (50, 1500, 20_000))
        self._timeline.add(host.name, f"has its clock set forward by {by_ms} ms")
        host.clock.jump(by_ms)

    def _wipe_disk(self, host: Host) -> None:
        if self._wipe(host):
            self._marks.add("disk wiped")

    def _fail_disk(self, host: Host) -> None:
        self._marks.add("disk failed")
        host.disk.error = self._chance.choice((errno.ENOSPC, errno.EIO))
        self._timeline.add(host.name, f"disk fails: {errno.errorcode[host.disk.error]}")


def _speed_up(host: Host) -> None:
    host.disk_ms = 0


def _leads(host: Host) -> bool:
    program = host.program
    return isinstance(program, Node) and program.raft.is_leader


def _has_offline_directory(host: Host) -> bool:
    node = host.program
    role = node.broker if isinstance(node, Node) else None
    return role is not None and role.replicas.is_started and any(s.error for s in role.replicas.log_dirs().values())
