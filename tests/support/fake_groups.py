"""Fake coordinators for handler tests: they record calls to shards and return prepared answers."""

from __future__ import annotations

from typing import Any

from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.coordinator.runtime.outcome import Outcome
from falkirk.coordinator.shard.group_coordinator_shard import GroupCoordinatorShard
from falkirk.node.broker.coordinator_runtime.coordinator_runtime import abs_hash
from falkirk.node.broker.group_coordinator.group_coordinator import GroupCoordinator
from falkirk.node.broker.transaction_coordinator.transaction_coordinator import TransactionCoordinator
from falkirk.versions.release import CONSUMER_OFFSETS, TRANSACTION_STATE


class FakeShard:
    """Records the name and the arguments of each call, without the token."""

    def __init__(self, asked: list[tuple[str, tuple[Any, ...]]]) -> None:
        self._asked = asked

    def __getattr__(self, name: str) -> Any:
        def call(client: Any, *given: Any, **named: Any) -> Outcome:
            *arguments, token = given
            assert token == 1, "the token comes last"
            self._asked.append((name, (client, *arguments, *named.values())))
            return Outcome()

        return call


def recorded(name: str) -> Any:
    """Return a method that a FakeGroupShard has in place of the shard's own."""
    return lambda shard, *given, **named: shard.fake.__getattr__(name)(*given, **named)


class FakeGroupShard(GroupCoordinatorShard):
    """The same as FakeShard where a handler asks for a shard of groups, which is a compiled class in some builds."""

    def __init__(self, asked: list[tuple[str, tuple[Any, ...]]]) -> None:
        self.fake = FakeShard(asked)


for each in vars(GroupCoordinatorShard):
    if not each.startswith("_") and callable(getattr(GroupCoordinatorShard, each)):
        setattr(FakeGroupShard, each, recorded(each))


class FakeGroups(GroupCoordinator):
    """`answers`: by group, a response (or a part of one), or an error of the log. `asked`: (method, arguments)."""

    def __init__(
        self,
        answers: dict[str, Any] | None = None,
        *,
        kind: CoordinatorKind = CoordinatorKind.NEW,
        is_enabled: bool = True,
    ) -> None:
        self.kind = kind
        self.answers = answers or {}
        self.asked: list[tuple[str, tuple[Any, ...]]] = []
        self.is_enabled = is_enabled

    topic = CONSUMER_OFFSETS

    @property
    def is_consumer_protocol_enabled(self) -> bool:
        return self.is_enabled

    def partition_for(self, group_id: str) -> int:
        return abs_hash(group_id) % 2

    def schedule(self, group_id: str, operation: Any, done: Any) -> None:
        operation(FakeGroupShard(self.asked), 1)
        done(self.answers[group_id])

    def list_groups(self, states: Any, types: Any, done: Any) -> None:
        self.asked.append(("list_groups", (states, types)))
        done(self.answers[""])

    def end_transaction(
        self,
        number: int,
        producer: Any,
        coordinator_epoch: int,
        done: Any,
        *,
        is_commit: bool,
        transaction_version: int,
    ) -> None:
        self.asked.append(("end_transaction", (number, producer, coordinator_epoch, is_commit, transaction_version)))
        done(self.answers[str(number)])


class FakeTransactions(TransactionCoordinator):
    """`answers`: by transactional id, a response (or a part of one), or an error of the log; None: of ListTransactions.

    `asked`: (method, arguments).
    """

    topic = TRANSACTION_STATE

    def __init__(self, answers: dict[str | None, Any] | None = None) -> None:
        self.answers = answers or {}
        self.asked: list[tuple[str, tuple[Any, ...]]] = []

    def partition_for(self, key: str) -> int:  # noqa: ARG002
        return 0

    def schedule(self, key: str, operation: Any, done: Any) -> None:
        operation(FakeShard(self.asked), 1)
        done(self.answers[key])

    def list_transactions(self, done: Any) -> None:
        done(self.answers[None])
