"""One broker on ZooKeeper, perhaps the controller: events in, effects out. A driver moves bytes and keeps the session.

node = ZooKeeperNode(config, random=random, now_ms=now_ms)
for effect in node.step([SessionChanged(SessionState.CONNECTED, 7)], now_ms):
    ...                                       # send, close, log, ask ZooKeeper, stop
sleep until node.next_wakeup_ms, or until something happens
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.node.effects import Effect
    from falkirk.node.events import Event
    from falkirk.node.zookeeper.config import ZooKeeperNodeConfig
    from falkirk.node.zookeeper.exchange import ZooKeeperEffect, ZooKeeperEvent
    from falkirk.protocol.chance import Chance


class ZooKeeperNode:
    """One node, from its start to its Stop."""

    def __init__(self, config: ZooKeeperNodeConfig, *, random: Chance, now_ms: int) -> None:
        self.config = config
        self._random = random
        self._due_ms: int | None = now_ms

    def step(self, events: Sequence[Event | ZooKeeperEvent], now_ms: int) -> list[Effect | ZooKeeperEffect]:
        """Take events in and say what is to be done, in order. After a Stop nothing more is done."""
        raise NotImplementedError(events, now_ms)

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the node wants to be stepped without an event; None: not before one comes."""
        return self._due_ms

    def missing_bytes(self, connection_id: int) -> int:
        """Say how much the request that has begun on an accepted connection lacks at least; 0 between requests."""
        raise NotImplementedError(connection_id)
