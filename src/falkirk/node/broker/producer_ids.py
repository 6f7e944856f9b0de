"""Producer ids that a broker assigns, from blocks of the active controller (KIP-730)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.effects import Fact
from falkirk.protocol.error_codes import error_name
from falkirk.protocol.messages import AllocateProducerIdsRequest, AllocateProducerIdsResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.connections.active_controller_channel import ActiveControllerChannel
    from falkirk.node.connections.outbound_connections import RequestFailure
    from falkirk.node.effects import Effect
    from falkirk.node.step import Step
    from falkirk.protocol.schema import WireMessage

# Kafka's, not configurable: the used part of a block at which the next is requested, and the wait after a refusal.
PREFETCH_AT: Final = 0.9
RETRY_BACKOFF_MS: Final = 50
REQUEST_TIMEOUT_MS: Final = 30_000

_ID_MAX: Final = 2**63 - 1


class ProducerIds:
    """Ids in ascending order, each returned once. The first block is requested with the first id, as in Kafka.

    `broker_epoch` returns the epoch of the broker's registration. While there is no id, clients must retry
    (COORDINATOR_LOAD_IN_PROGRESS): waiting would delay their other requests.
    """

    def __init__(
        self,
        step: Step,
        channel: ActiveControllerChannel,
        *,
        broker_epoch: Callable[[], int],
        effects: Callable[[Effect], None],
    ) -> None:
        self._step = step
        self._channel = channel
        self._broker_epoch = broker_epoch
        self._effects = effects
        self._block = range(0)
        self._next_id = 0
        self._next_block: range | None = None
        self._is_requested = False
        self._retry_at_ms: int | None = None

    def next_id(self) -> int | None:
        """Return an unused id; None if there is none at the moment."""
        if self._next_id >= self._block.stop:
            if self._next_block is None:
                self._request_block()
                return None
            self._block, self._next_block = self._next_block, None
            self._next_id = self._block.start
            if not self._block:
                return None
        found = self._next_id
        self._next_id += 1
        if found == self._block.start + int(len(self._block) * PREFETCH_AT):
            self._request_block()
        return found

    def _request_block(self) -> None:
        now_ms = self._step.now_ms
        if self._is_requested or self._next_block is not None:
            return
        if self._retry_at_ms is not None and now_ms < self._retry_at_ms:
            return
        request = AllocateProducerIdsRequest(broker_id=self._step.config.node_id, broker_epoch=self._broker_epoch())
        self._retry_at_ms = None
        self._is_requested = True
        self._step.wake()
        if not self._channel.send(request, timeout_ms=REQUEST_TIMEOUT_MS, done=self._answered):
            self._is_requested = False

    def _answered(self, answer: WireMessage | RequestFailure) -> None:
        self._is_requested = False
        reason = self._receive_block(answer)
        if reason is not None:
            self._retry_at_ms = self._step.now_ms + RETRY_BACKOFF_MS
            self._effects(Fact("warning", "no-producer-ids", {"reason": reason}))

    def _receive_block(self, answer: WireMessage | RequestFailure) -> str | None:
        """Keep the allocated block; return why there is none, or None."""
        if not isinstance(answer, AllocateProducerIdsResponse):
            return str(answer)
        if answer.error_code:
            return f"the controller answers {error_name(answer.error_code)}"
        start, length = answer.producer_id_start, answer.producer_id_len
        if start < self._block.stop - 1 or start < 0 or length < 0 or start > _ID_MAX - length:
            return f"the controller gives {length} ids from {start} on, after {self._block}"
        self._next_block = range(start, start + length)
        return None
