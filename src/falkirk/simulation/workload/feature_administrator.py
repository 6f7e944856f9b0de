"""Asks the active controller for what an operator wants of features, again and again until it has an answer."""

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
    """One question at a time; `answered_with` hears of the active controller's answer and its error code."""

    def __init__(self, controllers: Sequence[Endpoint], chance: Chance) -> None:
        super().__init__(controllers, chance, client_id="operator")
        self._answered_with: Callable[[WireMessage, int], None] | None = None
        self._poll_ms = 0

    def ask(self, operation: Operation, answered_with: Callable[[WireMessage, int], None]) -> None:
        """Ask from now on until there is an answer."""
        assert self._answered_with is None, "one at a time"
        self._current, self._answered_with = operation, answered_with

    @property
    def next_due_ms(self) -> int | None:
        """When it looks again for something to ask."""
        return self._poll_ms

    def next_request(self, now_ms: int) -> WireMessage | None:
        """Give what there is to ask."""
        self._poll_ms = now_ms + _POLL_MS
        return self._current.request if self._current is not None and self._answered_with is not None else None

    def finished(self, operation: Operation, response: WireMessage, error: int) -> None:
        """Pass the answer on."""
        super().finished(operation, response, error)
        assert self._answered_with is not None, "it was asked"
        tell, self._answered_with = self._answered_with, None
        tell(response, error)
