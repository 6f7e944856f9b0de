"""Sends the operator's feature requests to the active controller, and retries each until it is answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.simulation.workload.operation_client import OperationClient

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage
    from falkirk.simulation.workload.operation import Operation

_POLL_MS: Final = 50


class FeatureAdministrator(OperationClient):
    """One request at a time; `answered_with` receives the active controller's response and its error code."""

    def __init__(self, controllers: Sequence[Endpoint], chance: Chance) -> None:
        super().__init__(controllers, chance, client_id="operator")
        self._answered_with: Callable[[WireMessage, int], None] | None = None
        self._poll_ms = 0

    def ask(self, operation: Operation, answered_with: Callable[[WireMessage, int], None]) -> None:
        """Send a request until it is answered."""
        assert self._answered_with is None, "one at a time"
        self._current, self._answered_with = operation, answered_with

    @property
    def next_due_ms(self) -> int | None:
        """When it checks again for a request to send."""
        return self._poll_ms

    def next_request(self, now_ms: int) -> WireMessage | None:
        """Return the operator's current request."""
        self._poll_ms = now_ms + _POLL_MS
        return self._current.request if self._current is not None and self._answered_with is not None else None

    def finished(self, operation: Operation, response: WireMessage, error: int) -> None:
        """Pass the response to the operator."""
        super().finished(operation, response, error)
        assert self._answered_with is not None, "it was asked"
        tell, self._answered_with = self._answered_with, None
        tell(response, error)
