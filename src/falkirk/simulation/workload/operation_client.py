"""A client that sends the active controller one `Operation` after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol.error_codes import ErrorCode
from falkirk.simulation.workload.controller_client import NOT_ACTIVE, ControllerClient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage
    from falkirk.simulation.workload.operation import Operation


class OperationClient(ControllerClient):
    """Base class; a subclass sets the operation in `_current`, and may extend `finished`."""

    def __init__(self, controllers: Sequence[Endpoint], chance: Chance, *, client_id: str) -> None:
        super().__init__(controllers, chance, client_id=client_id)
        # Nothing new is begun, so that a run can end.
        self.is_over = False
        self._due_ms = 0
        self._current: Operation | None = None

    def answered(self, response: WireMessage, now_ms: int) -> bool:  # noqa: ARG002  as ControllerClient
        """Finish the current operation if the active controller answered it."""
        assert self._current is not None
        error = self._current.error(response)
        if error in NOT_ACTIVE:
            return False
        self.finished(self._current, response, error)
        if error:
            self.note(f"may not {self._current.what}: {ErrorCode(error).name}")
        else:
            self.note(f"did {self._current.what}")
        return True

    def finished(self, operation: Operation, response: WireMessage, error: int) -> None:
        """Handle the active controller's response, which may be an error; record what was acknowledged."""
        if not error:
            operation.done(response)
