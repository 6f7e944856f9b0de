"""The producers, consumers, group members and administrators of partition data, and when they have settled."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from falkirk.simulation.plans.transaction_plan import TRANSACTED
from falkirk.simulation.workload.broker_administrator import BrokerAdministrator
from falkirk.simulation.workload.broker_client import BrokerClient
from falkirk.simulation.workload.consumer import Consumer
from falkirk.simulation.workload.data_administrator import DataAdministrator
from falkirk.simulation.workload.group_member import GroupMember
from falkirk.simulation.workload.producer import Producer
from falkirk.simulation.workload.transaction_reader import TransactionReader
from falkirk.simulation.workload.transactional_client import TransactionalClient

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.image.topic import Topic
    from falkirk.simulation.history.data_history import DataHistory, PartitionKey
    from falkirk.simulation.history.group_history import GroupHistory
    from falkirk.simulation.history.transaction_history import TransactionHistory
    from falkirk.simulation.machine.host import Host, Program
    from falkirk.simulation.machine.world import World
    from falkirk.simulation.plans.data_plan import ConsumerPlan, DataPlan, ProducerPlan
    from falkirk.simulation.plans.group_plan import GroupPlan
    from falkirk.simulation.plans.scenario import Scenario
    from falkirk.simulation.plans.transaction_plan import TransactionPlan
    from falkirk.simulation.views.log_view import BrokerView


class DataClients:
    """`log_dirs`: of every broker; `epoch_ms`: when simulated time begins. The clients' clocks are exact."""

    def __init__(
        self,
        world: World,
        scenario: Scenario,
        plan: DataPlan,
        history: DataHistory,
        groups: GroupHistory,
        *,
        transactions: TransactionHistory,
        log_dirs: Sequence[str],
        epoch_ms: int,
    ) -> None:
        self._world = world
        self._plan = plan
        self._history = history
        self._groups = groups
        self._transactions = transactions
        self._controllers = list(scenario.controllers.values())
        self._brokers = scenario.brokers
        self._log_dirs = log_dirs
        self._epoch_ms = epoch_ms
        self.hosts = [
            self._add("data-admin", self._administrator),
            *([self._add("broker-admin", self._broker_administrator)] if plan.is_administered else []),
            *(self._add(f"producer-{at}", partial(self._producer, each)) for at, each in enumerate(plan.producers, 1)),
            *(self._add(f"consumer-{at}", partial(self._consumer, each)) for at, each in enumerate(plan.consumers, 1)),
            *(
                self._add(f"{group.group_id}-member-{at}", partial(self._member, group))
                for group in plan.groups
                for at in range(1, group.member_count + 1)
            ),
            *(
                self._add(f"{each.transactional_id}-{at}", partial(self._transactional_client, each))
                for each in plan.transactions
                for at in range(1, each.client_count + 1)
            ),
            *([self._add("transaction-reader", self._transaction_reader)] if plan.transactions else []),
        ]

    def end(self) -> None:
        """Stop all new work."""
        for host in self.hosts:
            if isinstance(host.program, DataAdministrator | BrokerClient):
                host.program.is_over = True

    def unsettled(self, image: MetadataImage, brokers: Mapping[int, BrokerView]) -> str | None:
        """Return which partition is not led or in sync, or which client has not finished; None if all is settled."""
        for topic_plan in self._plan.topics:
            topic = image.topics.topic(topic_plan.name)
            problem = f"topic {topic_plan.name} is not there" if topic is None else _not_in_sync(topic)
            if problem is not None:
                return problem
        planned = {topic_plan.name for topic_plan in self._plan.topics}
        logs = [
            log
            for broker in brokers.values()
            for log in broker.logs
            if image.topics.names.get(log.key.topic_id) in planned
        ]
        high_watermarks = {log.key: log.high_watermark for log in logs if log.led_epoch is not None}
        for log in logs:
            if log.high_watermark != high_watermarks.get(log.key) or log.high_watermark != log.log_end_offset:
                return f"{self._history.name(log.key)} is not committed up to its end everywhere"
        problem = self._unfinished(high_watermarks) or self._unread_transactions(image, high_watermarks)
        return problem or next((found for group in self._plan.groups if (found := self._unread(group, image))), None)

    def _unfinished(self, high_watermarks: Mapping[PartitionKey, int]) -> str | None:
        for host in self.hosts:
            if isinstance(host.program, Producer) and not host.program.is_done:
                return f"{host.name} waits for answers"
            if isinstance(host.program, Consumer):
                behind = host.program.behind(high_watermarks)
                if behind is not None:
                    return f"{host.name} does not get on: {behind}"
            if isinstance(host.program, TransactionalClient) and not host.program.is_done:
                return f"{host.name} has not ended its transaction"
        return None

    def _unread(self, plan: GroupPlan, image: MetadataImage) -> str | None:
        """Return why a group is not settled: a partition that no member reads, a level, a member; None if it is."""
        topic = image.topics.topic(plan.topic)
        assert topic is not None, "it was looked for before"
        hosts = [host for host in self.hosts if host.name.startswith(f"{plan.group_id}-")]
        members = [host.program for host in hosts if isinstance(host.program, GroupMember)]
        read = sorted(partition for member in members for partition in member.partitions)
        if read != [(plan.topic, number) for number, _ in topic.items()]:
            return f"{plan.group_id} reads {read}: {', '.join(member.state for member in members)}"
        if plan.feature is not None:
            finalized = image.features.levels().get(plan.feature, 0)
            below = next((member for member in members if member.level != finalized), None)
            if below is not None:
                return f"{below.name} runs {plan.feature} at level {below.level}, {finalized} is finalized"
        late = next((member for member in members if not member.is_settled), None)
        return None if late is None else f"{late.name} is not settled: {late.state}"

    def _unread_transactions(self, image: MetadataImage, high_watermarks: Mapping[PartitionKey, int]) -> str | None:
        reader = next((host.program for host in self.hosts if isinstance(host.program, TransactionReader)), None)
        topic = image.topics.topic(TRANSACTED)
        if reader is None or topic is None:
            return None
        return reader.unread(topic.topic_id, high_watermarks) or self._transactions.unfit_offset(reader.offsets)

    def _add(self, name: str, make: Callable[[Host], Program]) -> Host:
        return self._world.add_host(name, {}, make, skew_ms=self._epoch_ms)

    def _administrator(self, host: Host) -> Program:
        return DataAdministrator(self._controllers, self._world.chance(host.name), self._plan, list(self._brokers))

    def _broker_administrator(self, host: Host) -> Program:
        chance = self._world.chance(host.name)
        return BrokerAdministrator(host.name, self._brokers, chance, self._history, log_dirs=self._log_dirs)

    def _producer(self, plan: ProducerPlan, host: Host) -> Program:
        return Producer(host.name, self._brokers, self._world.chance(host.name), self._history, plan=plan)

    def _member(self, plan: GroupPlan, host: Host) -> Program:
        return GroupMember(host.name, self._brokers, self._world.chance(host.name), self._groups, plan=plan)

    def _transactional_client(self, plan: TransactionPlan, host: Host) -> Program:
        chance = self._world.chance(host.name)
        return TransactionalClient(host.name, self._brokers, chance, self._transactions, plan=plan)

    def _transaction_reader(self, host: Host) -> Program:
        chance = self._world.chance(host.name)
        return TransactionReader(host.name, self._brokers, chance, self._transactions, plans=self._plan.transactions)

    def _consumer(self, plan: ConsumerPlan, host: Host) -> Program:
        return Consumer(host.name, self._brokers, self._world.chance(host.name), self._history, plan=plan)


def _not_in_sync(topic: Topic) -> str | None:
    for partition_id, partition in topic.items():
        name = f"{topic.name}-{partition_id}"
        if partition.adding_replicas or partition.removing_replicas:
            return f"{name} is still being moved: {partition}"
        if partition.leader < 0 or set(partition.isr) != set(partition.replicas):
            return f"{name} is not in sync: {partition}"
    return None
