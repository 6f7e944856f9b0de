"""A stand-in for a node under a driver: it records its events and acts as the test says."""

import asyncio
from collections.abc import Callable, Sequence

from falkirk.node.effects import Effect, Send, Stop
from falkirk.node.events import BytesReceived, Event, ShutdownRequested


class DrivenNode:
    """Echoes what it receives and stops on request, unless `answer` says otherwise."""

    def __init__(self, answer: "Callable[[Event], Sequence[Effect] | None]" = lambda _: None) -> None:
        self.steps: list[list[Event]] = []
        self.times_ms: list[int] = []
        self.next_wakeup_ms: int | None = None
        self._answer = answer
        self._stepped = asyncio.Event()

    def step(self, events: Sequence[Event], now_ms: int) -> list[Effect]:
        self.steps.append(list(events))
        self.times_ms.append(now_ms)
        if self.next_wakeup_ms is not None and self.next_wakeup_ms <= now_ms:
            self.next_wakeup_ms = None
        self._stepped.set()
        return [effect for event in events for effect in self._effects(event)]

    @property
    def work_done(self) -> dict[str, object]:
        return {"apis": {"Fetch": len(self.steps)}}

    def missing_bytes(self, connection_id: int) -> int:  # noqa: ARG002 - as of a node
        return 0

    @property
    def events(self) -> list[Event]:
        return [event for step in self.steps for event in step]

    def events_of(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for a condition, which is checked after each step."""
        async with asyncio.timeout(30):
            while not holds():
                self._stepped.clear()
                await self._stepped.wait()

    def _effects(self, event: Event) -> Sequence[Effect]:
        chosen = self._answer(event)
        if chosen is not None:
            return chosen
        match event:
            case BytesReceived(connection_id, data):
                return [Send(connection_id, data)]
            case ShutdownRequested():
                return [Stop(0)]
            case _:
                return []
