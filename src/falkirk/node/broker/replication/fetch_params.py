"""Fetch requests and results by partition, independent of the wire's version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import ErrorCode
from falkirk.storage.log.read import FetchIsolation  # noqa: TC001
from falkirk.structs import FrozenLeaf, FrozenStruct

if TYPE_CHECKING:
    from falkirk.node.broker.replication.quiet_partition import QuietPartition
    from falkirk.storage.transaction_index import AbortedTransaction

CONSUMER_REPLICA_ID: Final = -1
NO_EPOCH: Final = -1
NO_OFFSET: Final = -1


class FetchParams(FrozenLeaf):
    """Parameters of a whole request. `replica_id` and `replica_epoch` (KIP-903): -1 for consumers.

    `rack`: the consumer's (KIP-392), empty if it has none; `is_leader_only`: old clients that cannot be redirected.
    `is_limit_hard`: clients from before KIP-74 get nothing rather than a batch that is larger than the limit.
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
        """True if a broker fetches, to replicate."""
        return self.replica_id >= 0


@dataclass(slots=True, kw_only=True)
class FetchPartition:
    """One partition of a request. Epochs are -1 where the request has none."""

    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int = NO_EPOCH
    last_fetched_epoch: int = NO_EPOCH
    log_start_offset: int = NO_OFFSET
    high_watermark: int | None = None
    """The follower's (v18, KIP-1166); None: not sent."""
    quiet: "QuietPartition | None" = None
    """The partition when the last response to this had nothing of it; while that holds nothing is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DivergingEpoch:
    """The largest epoch here that is not above the follower's last one, and its end offset (KIP-595)."""

    epoch: int
    end_offset: int


class PartitionFetched(FrozenStruct):
    """The result for one partition. Offsets are -1 where they are unknown, as on errors."""

    error_code: ErrorCode = ErrorCode.NONE
    high_watermark: int = NO_OFFSET
    last_stable_offset: int = NO_OFFSET
    log_start_offset: int = NO_OFFSET
    records: bytes | memoryview = b""
    aborted_transactions: "tuple[AbortedTransaction, ...] | None" = None
    diverging_epoch: DivergingEpoch | None = None
    preferred_read_replica: int = -1
    quiet: "QuietPartition | None" = None
    """The partition as it was read, if there was nothing; None where more than its log decides."""
