"""A client that sends one request at a time, and so is written as one story."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Final, TypeVar

from falkirk.protocol.messages import FindCoordinatorRequest, FindCoordinatorResponse
from falkirk.simulation.workload.broker_client import BrokerClient

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from typing import TypeAlias

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage

    Request: TypeAlias = tuple[int, WireMessage]
    """A request and the broker that it is for."""
    Result = TypeVar("Result")
    Story: TypeAlias = Generator[Request | int, WireMessage | None, Result]

GROUP: Final = 0
TRANSACTION: Final = 1
BACKOFF_MS: Final = 100
_FIND_COORDINATOR: Final = 10
_FIRST_WITH_BATCHES: Final = 4


class SequentialClient(BrokerClient):
    """A subclass has a `story`: it yields requests, and gets their answers, or milliseconds to wait."""

    def __init__(self, name: str, brokers: Mapping[int, Endpoint], chance: Chance) -> None:
        super().__init__(name, brokers, chance, is_current=True)
        self.is_done = False
        self._coordinators: dict[tuple[int, str], int] = {}
        self._story = self.story()
        self._resume_at_ms: int | None = 0

    @abstractmethod
    def story(self) -> Story[None]:
        """Return what the client does; at its end `is_done` becomes True."""

    @property
    def due_ms(self) -> int | None:
        """When the story goes on; None while a request is under way."""
        return self._resume_at_ms

    def act(self) -> None:
        """Go on with the story after a wait."""
        if self._resume_at_ms is not None and self.now_ms >= self._resume_at_ms:
            self._go_on(None)

    def _go_on(self, response: WireMessage | None) -> None:
        self._resume_at_ms = None
        try:
            wanted = self._story.send(response)
        except StopIteration:
            self.is_done = True
            return
        if isinstance(wanted, int):
            self._resume_at_ms = self.now_ms + wanted
        else:
            self.ask(*wanted, self._go_on)

    def coordinator(self, key_type: int, key: str) -> Story[int]:
        """Return the coordinator of a group or a transactional id."""
        while (known := self._coordinators.get((key_type, key))) is None:
            broker_id = self.chance.choice(sorted(self.brokers))
            self.connect(broker_id)
            version = self.version(broker_id, _FIND_COORDINATOR)
            if version is not None:
                request = FindCoordinatorRequest(key, key_type)
                if version >= _FIRST_WITH_BATCHES:
                    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=(key,))
                response = yield broker_id, request
                if response is not None:
                    assert isinstance(response, FindCoordinatorResponse)
                    found = response.coordinators[0] if response.coordinators else response
                    if not found.error_code and found.node_id in self.brokers:
                        self._coordinators[key_type, key] = found.node_id
                        continue
            yield BACKOFF_MS
        return known

    def ask_coordinator(self, key_type: int, key: str, request: WireMessage) -> Story[WireMessage | None]:
        """Return the coordinator's answer; None if its outcome is unknown."""
        broker_id = yield from self.coordinator(key_type, key)
        response = yield broker_id, request
        if response is None:
            yield from self.look_again(key_type, key)
        return response

    def look_again(self, key_type: int, key: str) -> Story[None]:
        """Wait a little, and look for the coordinator again."""
        self._coordinators.pop((key_type, key), None)
        yield BACKOFF_MS
