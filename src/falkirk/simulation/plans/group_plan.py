"""The consumer groups of a run and their members."""

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
    """A group that reads one topic. `protocols`: those that a member chooses from in each of its lives.

    `life_ms`: mean time until a member leaves or vanishes, and joins again. `feature`: a feature that classic members
    raise together (KIP-584's use case); it is not finalized when the cluster begins.
    """

    group_id: str
    topic: str
    member_count: int
    protocols: tuple[str, ...]
    life_ms: int
    feature: str | None = None

    @classmethod
    def of(cls, chance: Chance, number: int, topic: str) -> GroupPlan:
        """Choose a plan; mostly members of both protocols."""
        return cls(
            group_id=f"group-{number}",
            topic=topic,
            member_count=chance.randrange(1, 4),
            protocols=chance.choice(((CLASSIC,), (CONSUMER,), (CLASSIC, CONSUMER), (CLASSIC, CONSUMER))),
            life_ms=chance.choice((2_000, 5_000, 20_000)),
        )

    def __str__(self) -> str:
        """Return a summary in a few words."""
        return f"{self.group_id} of {self.member_count} {'/'.join(self.protocols)} members"


def group_properties(broker_count: int) -> Mapping[str, str]:
    """Return the brokers' group configs: Kafka's minutes become seconds."""
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
