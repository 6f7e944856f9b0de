"""Changes topics and users, one operation at a time, and records what was acknowledged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.workload.access_operations import AccessOperations
from falkirk.simulation.workload.operation_client import OperationClient
from falkirk.simulation.workload.topic_operations import TopicOperations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage
    from falkirk.simulation.history.write_history import History
    from falkirk.simulation.workload.operation import Operation


class Administrator(OperationClient):
    """Sends one request after the other, `interval_ms` apart on average.

    `servers`: controllers or, with `asks_brokers`, brokers, which forward requests. `broker_ids`: all brokers.
    """

    def __init__(
        self,
        name: str,
        servers: Sequence[Endpoint],
        chance: Chance,
        history: History,
        *,
        asks_brokers: bool,
        broker_ids: Sequence[int],
        interval_ms: int,
        acl_host: str,
    ) -> None:
        super().__init__(servers, chance, client_id=name)
        self._history = history
        self._topics = TopicOperations(name, chance, history, broker_ids)
        self._access = AccessOperations(name, chance, history, acl_host=acl_host)
        self._asks_brokers = asks_brokers
        self._interval_ms = interval_ms

    @property
    def next_due_ms(self) -> int | None:
        """When the next request is due."""
        return None if self.is_over else self._due_ms

    def next_request(self, now_ms: int) -> WireMessage | None:
        """Choose the next operation and return its request."""
        if self.is_over or now_ms < self._due_ms:
            return None
        self._due_ms = now_ms + 1 + self.chance.randrange(0, 2 * self._interval_ms)
        self._history.requested += 1
        operations = self._topics if self.chance.random() < 0.7 else self._access
        self._current = operations.choose()
        return self._current.request

    def finished(self, operation: Operation, response: WireMessage, error: int) -> None:
        """Record the result, and count acknowledged operations."""
        super().finished(operation, response, error)
        if not error:
            self._history.acknowledged += 1
            self._history.acknowledged_through_brokers += self._asks_brokers
