"""Whatever happens to a group, no partition has two owners, and left alone it comes to rest."""

from itertools import combinations
from typing import Any

import hypothesis.strategies as st
import pytest
from consumer_world import GROUP, REBALANCE_MS, SESSION_MS, Consumer, ConsumerWorld, state_of
from hypothesis import settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from legal_compactions import legal_compactions

from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release

MEMBERS = st.integers(0, 3)
SUBSCRIPTIONS = st.sampled_from([("foo",), ("foo", "bar"), ("bar",), ("foo", "none")])
REGEXES = st.sampled_from([None, None, "foo.*", "b.r|foo"])
ASSIGNORS = st.sampled_from([None, "uniform", "range"])


class AnyHistory(RuleBasedStateMachine):
    """Members join, speak, lose answers, dawdle, go, are fenced; topics change; coordinators change."""

    @initialize(
        running=st.sampled_from(
            [("3.7.2", "3.7-IV4"), ("4.0.0", "4.0-IV3"), ("4.3.1", "4.0-IV3"), ("4.4.0", "4.3-IV0")]
        )
    )
    def start(self, running: tuple[str, str]) -> None:
        levels = {"metadata.version": int(MetadataVersion.parse(running[1]).level), "group.version": 1}
        self.world = ConsumerWorld(release=Release.parse(running[0]), levels=levels)
        self.world.looks_twice = True
        self.consumers: dict[int, Consumer] = {}
        self.made = 0

    @rule(at=MEMBERS, topics=SUBSCRIPTIONS, regex=REGEXES, assignor=ASSIGNORS, is_static=st.booleans())
    def join(self, at: int, topics: tuple[str, ...], regex: str | None, assignor: str | None, is_static: bool) -> None:
        if at in self.consumers:
            return
        self.made += 1
        asked: dict[str, Any] = {"assignor": assignor}  # Any: what a heartbeat takes
        if regex is not None:
            asked["regex"] = regex
        instance = f"i{at}" if is_static else None
        consumer = Consumer(self.world, f"m{self.made}", *topics, instance=instance, **asked)
        if consumer.beat() == 0:
            self.consumers[at] = consumer

    @rule(at=MEMBERS, gives_back=st.booleans(), is_lost=st.booleans())
    def beat(self, at: int, gives_back: bool, is_lost: bool) -> None:
        consumer = self.consumers.get(at)
        if consumer is not None:
            consumer.beat(gives_back=gives_back, is_lost=is_lost)

    @rule(at=MEMBERS, topics=SUBSCRIPTIONS)
    def subscribe(self, at: int, topics: tuple[str, ...]) -> None:
        consumer = self.consumers.get(at)
        if consumer is not None:
            consumer.topics = topics
            consumer.is_full_next = True

    @rule(at=MEMBERS, keeps_place=st.booleans())
    def leave(self, at: int, keeps_place: bool) -> None:
        consumer = self.consumers.pop(at, None)
        if consumer is not None:
            consumer.leave(keeps_place=keeps_place and consumer.instance is not None)

    @rule(at=MEMBERS)
    def crash(self, at: int) -> None:
        """A consumer that is gone holds nothing; its coordinator does not know."""
        self.consumers.pop(at, None)

    @rule(ms=st.sampled_from([1_000, 11_000, SESSION_MS, REBALANCE_MS, 700_000]))
    def pass_time(self, ms: int) -> None:
        # Those that live speak in time, but they dawdle: only a rebalance may be too long for them.
        while ms > 0:
            part = min(ms, SESSION_MS - 1)
            self.world.pass_time(part)
            ms -= part
            for consumer in self.consumers.values():
                consumer.beat(gives_back=False)
                self.notice_fencing()

    @rule(name=st.sampled_from(["foo", "bar", "foobar"]), partitions=st.integers(0, 5))
    def change_topic(self, name: str, partitions: int) -> None:
        if partitions == 0 or partitions >= self.world.topics.partitions_of(name):
            self.world.change_topic(name, partitions)

    @rule()
    def take_over(self) -> None:
        before = state_of(self.world)
        self.world.reload()
        assert state_of(self.world) == before

    @precondition(lambda self: self.world.batches)
    @rule(data=st.data())
    def take_over_a_compacted_log(self, data: st.DataObject) -> None:
        before = state_of(self.world)
        entries = self.world.entries()
        self.world.reload(data.draw(legal_compactions(entries, batch_starts=self.world.batch_starts())))
        assert state_of(self.world) == before

    @rule()
    def come_to_rest(self) -> None:
        for consumer in self.consumers.values():
            consumer.is_full_next = True
        for _ in range(8):
            for consumer in self.consumers.values():
                consumer.beat()
            # Whoever does not speak goes, and expressions find new topics.
            self.world.pass_time(SESSION_MS // 3)
        self.world.pass_time(1)
        group = self.world.context.groups.get(GROUP)
        if group is None:
            assert not self.consumers
            return
        assert isinstance(group, ConsumerGroup)
        assert group.state_name == ("Stable" if self.consumers else "Empty")
        for consumer in self.consumers.values():
            member = group.members[consumer.member_id]
            assert consumer.assigned == {id_: frozenset(parts) for id_, parts in member.assigned.items() if parts}
            assert consumer.assigned == {
                id_: parts for id_, parts in group.target_of(member.member_id).items() if parts
            }
        read = {name for name in self.world.topics.names() if group.is_subscribed_to(name)}
        assert {(self.world.id(name), at) for name in read for at in range(self.world.topics.partitions_of(name))} == {
            (topic_id, at)
            for consumer in self.consumers.values()
            for topic_id, partitions in consumer.told.items()
            for at in partitions
        }

    @invariant()
    def nothing_has_two_owners(self) -> None:
        if not hasattr(self, "world"):
            return
        self.notice_fencing()
        for one, other in combinations(self.consumers.values(), 2):
            for topic_id in one.told.keys() & other.told.keys():
                assert one.told[topic_id].isdisjoint(other.told[topic_id])

    def notice_fencing(self) -> None:
        """A member that was fenced is none, though it has not heard of it yet."""
        group = self.world.context.groups.get(GROUP)
        members = group.members if isinstance(group, ConsumerGroup) else {}
        for consumer in self.consumers.values():
            if consumer.member_id not in members:
                consumer.abandon()


@pytest.mark.slow
def test_no_partition_has_two_owners_and_a_group_comes_to_rest():
    run_state_machine_as_test(AnyHistory, settings=settings(max_examples=25, stateful_step_count=30, deadline=None))


@pytest.mark.full
def test_no_partition_has_two_owners_in_many_long_histories():
    run_state_machine_as_test(AnyHistory, settings=settings(max_examples=1_000, stateful_step_count=50, deadline=None))
