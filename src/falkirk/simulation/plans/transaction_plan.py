"""The transactional clients of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.chance import Chance

TRANSACTED: Final = "transacted"
"""The topic of transactions. Nothing else writes to it, and nothing of it is deleted."""
TRANSACTION_TIMEOUT_MS: Final = 3_000
_STATE_PARTITIONS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionPlan:
    """A transactional id that `client_count` clients fight for: the others are zombies of the last that began.

    `interval_ms`: mean pause between two transactions. Shares are of all transactions: those that are aborted, and
    those that are left open until they time out.
    """

    transactional_id: str
    client_count: int
    interval_ms: int
    aborted_share: float = 0.25
    abandoned_share: float = 0.1

    @classmethod
    def of(cls, chance: Chance, number: int) -> TransactionPlan:
        """Choose a plan; half of the ids are fought for."""
        return cls(
            transactional_id=f"transactions-{number}",
            client_count=chance.choice((1, 2)),
            interval_ms=chance.choice((50, 200, 600)),
        )

    @property
    def group_id(self) -> str:
        """The group whose offsets are committed in the transactions."""
        return f"{self.transactional_id}-group"

    def __str__(self) -> str:
        """Return a summary in a few words."""
        return f"{self.client_count} clients of {self.transactional_id}"


def transaction_properties(broker_count: int) -> Mapping[str, str]:
    """Return the brokers' configs: Kafka's minutes become seconds."""
    replicas = min(3, broker_count)
    return {
        "transaction.state.log.num.partitions": str(_STATE_PARTITIONS),
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(max(1, replicas - 1)),
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    }
