"""The data of a run: topics, producers and consumers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from falkirk.simulation.plans.group_plan import GroupPlan, group_properties
from falkirk.simulation.plans.transaction_plan import TRANSACTED, TransactionPlan, transaction_properties

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.chance import Chance

_REPLICAS_MAX: Final = 3


class Keeping(Enum):
    """What a topic keeps of its records; the topic's name begins with it."""

    ALL = "kept"
    END = "trimmed"
    """Retention and DeleteRecords delete old records."""
    NOTHING = "passing"
    """The topic is deleted and created again. Older requests name topics only, so nothing is tracked."""
    KEYS = "compacted"
    """The last record of each key stays."""

    @classmethod
    def of(cls, topic: str) -> Keeping | None:
        """Return what the topic of that name keeps; None for a topic without producers."""
        return _BY_WORD.get(topic.partition("-")[0])


_BY_WORD: Final = {keeping.value: keeping for keeping in Keeping}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPlan:
    """A topic to create."""

    name: str
    partition_count: int
    replication_factor: int
    configs: "Mapping[str, str]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerPlan:
    """A producer: `acks` is -1, 0 or 1, -1 if it is idempotent. `interval_ms`: mean time between two batches."""

    is_idempotent: bool
    acks: int
    interval_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerPlan:
    """A consumer."""

    reads_from_followers: bool
    has_sessions: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPlan:
    """The data of a run. `log_dir_count`: of each broker. `is_administered`: topics are changed while in use.

    `groups`: the groups that read and commit. `transactions`: what writes to the topic TRANSACTED.
    `transaction_version`: the level with which the cluster begins.
    """

    topics: tuple[TopicPlan, ...]
    producers: tuple[ProducerPlan, ...]
    consumers: tuple[ConsumerPlan, ...]
    log_dir_count: int
    is_administered: bool
    groups: tuple[GroupPlan, ...] = ()
    transactions: tuple[TransactionPlan, ...] = ()
    transaction_version: int = 0

    @classmethod
    def of(cls, chance: Chance, broker_count: int) -> DataPlan:
        """Choose a plan; it always has a topic that keeps records, and an idempotent producer."""
        replication_factor = min(_REPLICAS_MAX, broker_count)
        keepings = [Keeping.ALL, *(each for each in Keeping if chance.random() < 0.6)]
        topics = tuple(
            TopicPlan(
                name=f"{keeping.value}-{number}",
                partition_count=chance.randrange(1, 3),
                replication_factor=replication_factor,
                configs=_configs(chance, keeping, replication_factor),
            )
            for number, keeping in enumerate(keepings)
        )
        plain = ProducerPlan(is_idempotent=False, acks=chance.choice((-1, -1, 0, 1)), interval_ms=250)
        idempotent = ProducerPlan(is_idempotent=True, acks=-1, interval_ms=chance.choice((40, 120, 400)))
        return cls(
            topics=topics,
            producers=(idempotent, *((plain,) if chance.random() < 0.6 else ())),
            consumers=(
                ConsumerPlan(reads_from_followers=False, has_sessions=True),
                ConsumerPlan(reads_from_followers=True, has_sessions=chance.random() < 0.7),
            )[: chance.choice((1, 2, 2))],
            log_dir_count=chance.choice((1, 1, 2)),
            is_administered=chance.random() < 0.7,
        )

    def coordinator_properties(self, broker_count: int) -> Mapping[str, str]:
        """Return the configs that the brokers need for groups and transactions."""
        transactions = transaction_properties(broker_count) if self.transactions else {}
        return {**(group_properties(broker_count) if self.groups or transactions else {}), **transactions}

    def with_transactions(self, chance: Chance, broker_count: int) -> DataPlan:
        """Add transactional clients, and the topic that they write to."""
        replication_factor = min(_REPLICAS_MAX, broker_count)
        configs = {"retention.ms": "-1", "segment.ms": chance.choice(("500", "3000"))}
        topic = TopicPlan(
            name=TRANSACTED,
            partition_count=chance.randrange(2, 4),
            replication_factor=replication_factor,
            configs={**configs, "min.insync.replicas": str(max(1, replication_factor - 1))},
        )
        plans = tuple(TransactionPlan.of(chance, number) for number in range(chance.choice((1, 2, 2))))
        return replace(self, topics=(*self.topics, topic), transactions=plans)

    def with_groups(self, chance: Chance) -> DataPlan:
        """Add groups that read the first topic, which is never deleted."""
        groups = tuple(GroupPlan.of(chance, number, self.topics[0].name) for number in range(chance.choice((1, 1, 2))))
        return replace(self, groups=groups)

    def __str__(self) -> str:
        """Return a summary in a few words."""
        topics = ", ".join(f"{topic.name} ({topic.partition_count})" for topic in self.topics)
        producers = ", ".join("idempotent" if each.is_idempotent else f"acks={each.acks}" for each in self.producers)
        return (
            f"topics {topics} with {self.topics[0].replication_factor} replicas, producers {producers}, "
            f"{len(self.consumers)} consumers, {self.log_dir_count} log dirs"
            f"{', administered' if self.is_administered else ''}"
            f"{''.join(f', {each}' for each in (*self.groups, *self.transactions))}"
        )


def _configs(chance: Chance, keeping: Keeping, replication_factor: int) -> dict[str, str]:
    configs = {
        "segment.ms": chance.choice(("500", "3000")),
        "index.interval.bytes": "300",
        "file.delete.delay.ms": "500",
        "min.insync.replicas": str(max(1, replication_factor - 1)),
    }
    match keeping:
        case Keeping.ALL:
            return {**configs, "retention.ms": "-1"}
        case Keeping.NOTHING:
            return {**configs, "retention.ms": "4000"}
        case Keeping.END:
            return {**configs, **chance.choice(({"retention.ms": "2000"}, {"retention.bytes": "3000"}))}
        case Keeping.KEYS:
            return {**configs, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
