"""Measures the time that a node spends on requests, for quotas of it (`request_percentage`, KIP-124).

Time counts for the client whose request it was spent on, from the handler's first line to the encoded response, over
all slices of a large request; not while a request waits. Which requests are exempt: as KafkaApis and ControllerApis.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from falkirk.protocol.messages import FetchRequest, ProduceRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.connections.client_connection import OpenRequest
    from falkirk.slices import Slices

# On controllers: Fetch, the quorum's requests, AlterPartition.
_EXEMPT_ON_CONTROLLERS: Final = frozenset({1, 52, 53, 54, 55, 56, 59, 80, 81, 82})
# WriteTxnMarkers.
_EXEMPT: Final = frozenset({27})


class RequestTimes:
    """Gives the time of each request to `record`; `thread_ns` returns a time that only rises."""

    def __init__(self, record: Callable[[RequestContext, int], None], thread_ns: Callable[[], int]) -> None:
        self._record = record
        self._thread_ns = thread_ns
        # Whose request is being handled; None: nobody's, or one that is exempt.
        self._current: RequestContext | None = None
        self._since_ns = 0

    @contextmanager
    def measured(self, request: OpenRequest) -> Iterator[None]:
        """Count the time of the block for the client; one in an envelope interrupts that of the envelope."""
        self.flush()
        outer, self._current = self._current, None if is_exempt(request) else request.context
        try:
            yield
        finally:
            self.flush()
            self._current = outer

    def measured_slices(self, request: OpenRequest, slices: Slices[None]) -> Slices[None]:
        """Run slices of a request, and count the time of each."""
        while True:
            with self.measured(request):
                try:
                    next(slices)
                except StopIteration:
                    return
            yield

    def flush(self) -> None:
        """Count what has been spent until now."""
        now_ns = self._thread_ns()
        if self._current is not None:
            self._record(self._current, now_ns - self._since_ns)
        self._since_ns = now_ns


def is_exempt(request: OpenRequest) -> bool:
    """Return whether a request is neither counted nor throttled: it is the cluster's own, or has no response."""
    api_key, message = request.context.api_key, request.message
    if request.client.listener.is_controller:
        return api_key in _EXEMPT_ON_CONTROLLERS
    if isinstance(message, FetchRequest):
        return max(message.replica_id, message.replica_state.replica_id) >= 0
    if isinstance(message, ProduceRequest):
        return message.acks == 0
    return api_key in _EXEMPT
