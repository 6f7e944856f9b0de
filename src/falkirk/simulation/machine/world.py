"""The world of one run: hosts on a network, and simulated time."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from falkirk.simulation.machine.clock import Clock, HostClock
from falkirk.simulation.machine.disk import SimulatedDisk
from falkirk.simulation.machine.host import Host
from falkirk.simulation.machine.network import Network, NetworkConditions
from falkirk.simulation.machine.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.node.events import Event
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.simulation.machine.host import Program


class World:
    """Everything that a seed decides. Each part has its own random stream: changing one does not affect the others."""

    def __init__(self, seed: int, *, keeps_timeline: bool = True) -> None:
        self.seed = seed
        self.clock = Clock()
        self.timeline = Timeline(self.clock, is_kept=keeps_timeline)
        self.network = Network(self.clock, self.chance("network"), self._deliver, NetworkConditions())
        self.hosts: dict[str, Host] = {}

    def chance(self, purpose: str) -> random.Random:
        """Return the random stream of a purpose. It is seeded by text, which does not depend on the hash seed."""
        return random.Random(f"{self.seed}/{purpose}")  # noqa: S311  a seed has to replay

    def add_host(
        self, name: str, listeners: Mapping[str, Endpoint], make_program: Callable[[Host], Program], *, skew_ms: int = 0
    ) -> Host:
        """Add a host without starting it."""
        host = Host(
            name,
            listeners=listeners,
            make_program=make_program,
            world_clock=self.clock,
            clock=HostClock(self.clock, skew_ms),
            disk=SimulatedDisk(self.chance(f"disk of {name}")),
            network=self.network,
            timeline=self.timeline,
        )
        self.hosts[name] = host
        return host

    def run(self, until_ms: int, *, until: Callable[[], bool] = lambda: False) -> bool:
        """Advance up to `until_ms`, or until `until` holds; return whether it does.

        Raises InvariantViolatedError, and any unexpected error of a program.
        """
        while self.clock.step(until_ms):
            if until():
                return True
        return until()

    def _deliver(self, name: str, event: Event) -> None:
        self.hosts[name].deliver(event)
