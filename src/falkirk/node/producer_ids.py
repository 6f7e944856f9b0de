"""Producer ids that a broker hands out: from blocks that the active controller allocates (KIP-730)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.effects import Fact
from falkirk.protocol.error_codes import error_name
from falkirk.protocol.messages import AllocateProducerIdsRequest, AllocateProducerIdsResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.active_controller_channel import ActiveControllerChannel
    from falkirk.node.effects import Effect
    from falkirk.node.node_state import NodeState
    from falkirk.node.peers import PeerFailure
    from falkirk.protocol.schema import WireMessage

# Kafka's, not configurable: how much of a block is gone when the next is asked for, and how long a refusal is minded.
PREFETCH_AT: Final = 0.9
RETRY_BACKOFF_MS: Final = 50
REQUEST_TIMEOUT_MS: Final = 30_000

_ID_MAX: Final = 2**63 - 1


class ProducerIds:
    """Ids in rising order, each given once. The first block is asked for when the first id is wanted, as in Kafka.

    `broker_epoch` gives the epoch of the broker's registration. Whoever asks while no id is there is to try again
    (COORDINATOR_LOAD_IN_PROGRESS): waiting would hold up what else the client asks.
    """

    def __init__(
        self,
        state: NodeState,
        channel: ActiveControllerChannel,
        *,
        broker_epoch: Callable[[], int],
        effects: Callable[[Effect], None],
    ) -> None:
        self._state = state
        self._channel = channel
        self._broker_epoch = broker_epoch
        self._effects = effects
        self._block = range(0)
        self._next_id = 0
        self._next_block: range | None = None
        self._is_asked = False
        self._retry_at_ms: int | None = None

    def next_id(self) -> int | None:
        """Give an id that nobody has; None if there is none at the moment."""
        if self._next_id >= self._block.stop:
            if self._next_block is None:
                self._ask()
                return None
            self._block, self._next_block = self._next_block, None
            self._next_id = self._block.start
            if not self._block:
                return None
        found = self._next_id
        self._next_id += 1
        if found == self._block.start + int(len(self._block) * PREFETCH_AT):
            self._ask()
        return found

    def _ask(self) -> None:
        now_ms = self._state.now_ms
        if self._is_asked or self._next_block is not None:
            return
        if self._retry_at_ms is not None and now_ms < self._retry_at_ms:
            return
        request = AllocateProducerIdsRequest(broker_id=self._state.config.node_id, broker_epoch=self._broker_epoch())
        self._retry_at_ms = None
        self._is_asked = True
        self._state.has_work = True
        if not self._channel.send(request, timeout_ms=REQUEST_TIMEOUT_MS, done=self._answered):
            self._is_asked = False

    def _answered(self, answer: WireMessage | PeerFailure) -> None:
        self._is_asked = False
        reason = self._take(answer)
        if reason is not None:
            self._retry_at_ms = self._state.now_ms + RETRY_BACKOFF_MS
            self._effects(Fact("warning", "no-producer-ids", {"reason": reason}))

    def _take(self, answer: WireMessage | PeerFailure) -> str | None:
        """Take over a block; give the reason if there is none."""
        if not isinstance(answer, AllocateProducerIdsResponse):
            return str(answer)
        if answer.error_code:
            return f"the controller answers {error_name(answer.error_code)}"
        start, length = answer.producer_id_start, answer.producer_id_len
        if start < self._block.stop - 1 or start < 0 or length < 0 or start > _ID_MAX - length:
            return f"the controller gives {length} ids from {start} on, after {self._block}"
        self._next_block = range(start, start + length)
        return None
