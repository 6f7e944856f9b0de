"""What groups a run has, and who is in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.chance import Chance

CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
# The same for members of both protocols; a member that cannot say so in time gives up what it has.
SESSION_TIMEOUT_MS: Final = 2_000
REBALANCE_TIMEOUT_MS: Final = 2_000
HEARTBEAT_INTERVAL_MS: Final = 300
OFFSETS_PARTITIONS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """One group, which reads one topic. `protocols`: what a member may choose each time that it begins anew.

    `life_ms`: how long a member stays, on the average, before it leaves or vanishes, and comes again. `feature`: what
    classic members go up with, together (KIP-584's use case); it is not finalized when the cluster begins.
    """

    group_id: str
    topic: str
    member_count: int
    protocols: tuple[str, ...]
    life_ms: int
    feature: str | None = None

    @classmethod
    def of(cls, chance: Chance, number: int, topic: str) -> GroupPlan:
        """Choose one: mostly members of both protocols."""
        return cls(
            group_id=f"group-{number}",
            topic=topic,
            member_count=chance.randrange(1, 4),
            protocols=chance.choice(((CLASSIC,), (CONSUMER,), (CLASSIC, CONSUMER), (CLASSIC, CONSUMER))),
            life_ms=chance.choice((2_000, 5_000, 20_000)),
        )

    def __str__(self) -> str:
        """Say it in a few words."""
        return f"{self.group_id} of {self.member_count} {'/'.join(self.protocols)} members"


def group_properties(broker_count: int) -> Mapping[str, str]:
    """Give what a broker of such a run is configured with: what Kafka does in minutes has to happen in seconds."""
    return {
        "offsets.topic.num.partitions": str(OFFSETS_PARTITIONS),
        "offsets.topic.replication.factor": str(min(3, broker_count)),
        "offsets.retention.check.interval.ms": "2000",
        "group.initial.rebalance.delay.ms": "200",
        "group.min.session.timeout.ms": "1000",
        "group.consumer.session.timeout.ms": str(SESSION_TIMEOUT_MS),
        "group.consumer.min.session.timeout.ms": "1000",
        "group.consumer.heartbeat.interval.ms": str(HEARTBEAT_INTERVAL_MS),
        "group.consumer.min.heartbeat.interval.ms": "100",
        "min.insync.replicas": str(max(1, min(3, broker_count) - 1)),
    }
