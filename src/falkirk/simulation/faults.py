"""Which faults a run has, and when: a random subset of kinds for each seed, then events at random times."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.node.node import Node

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.protocol.chance import Chance
    from falkirk.simulation.clock import Clock
    from falkirk.simulation.host import Host
    from falkirk.simulation.marks import Marks
    from falkirk.simulation.network import Network
    from falkirk.simulation.timeline import Timeline

POWER_LOSSES: Final = "power losses"
REPEATED_REQUESTS: Final = "repeated requests"
WIPED_DISKS: Final = "wiped disks"
KINDS: Final = (
    "slow network",
    "broken connections",
    REPEATED_REQUESTS,
    "cut writes",
    "partitions",
    "one-way partitions",
    "crashes",
    "crashes at a change on disk",
    "freezes",
    "clock jumps",
    "disk errors",
    "restarts",
    WIPED_DISKS,
)
"""What any cluster bears. A crash ends the process alone: what it had written is there. Power losses come beside these,
where there are data. `restarts` are asked for: a host shuts down in an orderly way and comes up again. Disks are wiped
only where the quorum can bear it: of one voter at a time, and only after the one before has been replaced.
"""
# How often something happens to a controller; else it does to a broker. The second: where brokers have data.
_SHARE_OF_CONTROLLERS = 0.75, 0.3


# How long a host may be down when there are no more faults.
_DOWN_MS_MAX = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan:
    """What may happen in a run. Times in ms; `interval_ms`: mean time between two events of all kinds together."""

    kinds: frozenset[str]
    interval_ms: int
    downtime_ms_max: int = 5000

    @classmethod
    def of(cls, chance: Chance) -> FaultPlan:
        """Choose a subset; one run in eight has no fault at all, one in eight all of them."""
        draw = chance.random()
        if draw < 0.125:
            kinds: Sequence[str] = ()
        elif draw > 0.875:
            kinds = KINDS
        else:
            share = chance.random()
            kinds = [kind for kind in KINDS if chance.random() < share]
        return cls(kinds=frozenset(kinds), interval_ms=chance.choice((300, 800, 2000)))

    def __str__(self) -> str:
        """List the kinds in the order in which the fault model names them."""
        chosen = ", ".join(kind for kind in (*KINDS, POWER_LOSSES) if kind in self.kinds) or "none"
        return f"{chosen}; every {self.interval_ms} ms"


class Faults:
    """Lets things happen to hosts and network until it is told to stop; then all is made well again.

    `wipe`: replaces a host's disk, if that is safe now, and says whether it did. `lost_power`: is told which host did.
    `has_data`: brokers have, and change their disks all the time.
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
        }

    def begin(self) -> None:
        """Let the network become as bad as planned, and plan the first event."""
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
        """Make network, disks and hosts well again."""
        self._is_over = True
        self._timeline.add("world", "faults end")
        conditions = self._network.conditions
        conditions.delay_ms_max = 4
        conditions.breaks = conditions.repeats = 0.0
        self._network.heal()
        for host in self._hosts:
            host.disk.error = None
            host.disk.changes_until_crash = None
        self._start_all()

    def leave(self) -> None:
        """Start nothing any more."""
        self._starts = False

    def _start_all(self) -> None:
        """Start what is down, also what only now ends because it was asked to."""
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


def _leads(host: Host) -> bool:
    program = host.program
    return isinstance(program, Node) and program.raft.is_leader
