"""What a fetch asks for and gets, one partition at a time, in no version of the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from falkirk.storage.log.read import FetchIsolation
    from falkirk.storage.transaction_index import AbortedTransaction

CONSUMER_REPLICA_ID: Final = -1
NO_EPOCH: Final = -1
NO_OFFSET: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchParams:
    """What holds for a whole request. `replica_id` and `replica_epoch` (KIP-903): -1 for consumers.

    `rack`: the consumer's (KIP-392), empty if it has none; `is_leader_only`: old clients that cannot be sent elsewhere.
    `is_limit_hard`: clients from before KIP-74 get nothing rather than a batch that is larger than they asked for.
    """

    replica_id: int
    replica_epoch: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation: FetchIsolation
    rack: str = ""
    client_host: str = ""
    is_leader_only: bool = True
    is_limit_hard: bool = False

    @property
    def is_from_follower(self) -> bool:
        """Say whether a broker asks, to replicate."""
        return self.replica_id >= 0


@dataclass(slots=True, kw_only=True)
class FetchPartition:
    """What is asked of one partition. Epochs are -1 where the request did not tell them."""

    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int = NO_EPOCH
    last_fetched_epoch: int = NO_EPOCH
    log_start_offset: int = NO_OFFSET
    high_watermark: int | None = None
    """What the follower knows (v18, KIP-1166); None: not told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DivergingEpoch:
    """The largest epoch here that is not above the follower's last one, and where it ends (KIP-595)."""

    epoch: int
    end_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFetched:
    """What is answered for one partition. Offsets are -1 where they are unknown, as on errors."""

    error_code: ErrorCode = ErrorCode.NONE
    high_watermark: int = NO_OFFSET
    last_stable_offset: int = NO_OFFSET
    log_start_offset: int = NO_OFFSET
    records: bytes | memoryview = b""
    aborted_transactions: tuple[AbortedTransaction, ...] | None = None
    diverging_epoch: DivergingEpoch | None = None
    preferred_read_replica: int = -1
