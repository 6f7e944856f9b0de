"""Whatever members of both protocols do, and whatever becomes of coordinators and their log.

No partition has two owners, no committed offset is lost, any log that cleaning may leave is the same group, and what is
left alone comes to rest, in the protocol that its members and the policy ask for.
"""

from itertools import combinations

import hypothesis.strategies as st
import pytest
from consumer_world import SESSION_MS as CONSUMER_SESSION_MS
from consumer_world import Consumer
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
from mixed_world import GROUP, REBALANCE_MS, SESSION_MS, ClassicConsumer, MixedWorld, group_state

from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.conversion.migration_policy import MigrationPolicy
from falkirk.protocol.error_codes import ErrorCode
from falkirk.versions.release import Release

RELEASES = ["3.9.1", "4.0.0", "4.3.1", "4.4.0"]
PLACES = st.integers(0, 2)
SUBSCRIPTIONS = st.sampled_from([("foo",), ("foo", "bar")])
BEAT_MS = SESSION_MS // 2 - 1


class AnyHistory(RuleBasedStateMachine):
    """Consumers are in places; who stands in one, and of which protocol, changes."""

    @initialize(
        policy=st.sampled_from([*MigrationPolicy, *3 * [MigrationPolicy.BIDIRECTIONAL]]),
        release=st.sampled_from(RELEASES),
        assignor=st.sampled_from(["cooperative-sticky", "range"]),
        is_tolerant=st.booleans(),
        at_first=st.lists(st.booleans(), min_size=1, max_size=3),
    )
    def start(self, policy, release, assignor, is_tolerant, at_first):
        release = Release.parse(release)
        levels = {"metadata.version": release.latest_metadata_version.level, "group.version": 1}
        self.policy, self.assignor = policy, assignor
        self.world = MixedWorld(
            release=release,
            levels=levels,
            consumer_migration_policy=policy.value,
            # Before 4.0 Kafka cannot load all that cleaning may leave of a consumer group, and nor can we in its place.
            is_tolerant=is_tolerant or release.name == "3.9.1",
        )
        self.consumers = {}
        self.static_topics = {}
        self.made = 0
        self.acked = {}
        self.unanswered = {}
        for at, is_classic in enumerate(at_first):
            self.come(at, ("foo",), False, is_classic)
        self.pass_time(3)

    # --- members

    @rule(at=PLACES, topics=SUBSCRIPTIONS, is_static=st.booleans(), is_classic=st.booleans())
    def come(self, at, topics, is_static, is_classic):
        """Take a place, or speak if somebody has it."""
        instance = None
        if is_static:
            instance = f"i{at}"
            # One that comes back with other topics has its old assignment until the next rebalance, as in Kafka.
            topics = self.static_topics.setdefault(at, topics)
        if at not in self.consumers:
            self.consumers[at] = self._consumer(topics, instance, is_classic=is_classic)
        self._speak(at)

    @rule(at=PLACES)
    def speak(self, at):
        if at in self.consumers:
            self._speak(at)

    @rule(at=PLACES)
    def leave(self, at):
        consumer = self.consumers.pop(at, None)
        if consumer is not None:
            consumer.leave()

    @rule(at=PLACES)
    def restart_with_the_other_protocol(self, at):
        """As an operator does who moves consumers from one protocol to the other, either way."""
        before = self.consumers.pop(at, None)
        if before is None:
            return
        is_classic = isinstance(before, ClassicConsumer)
        if before.instance is None:
            before.leave()
        elif not is_classic:
            before.leave(keeps_place=True)
        self.consumers[at] = self._consumer(before.topics, before.instance, is_classic=not is_classic)
        self._speak(at)

    @rule(at=PLACES)
    def die(self, at):
        """One that is gone works on nothing; its coordinator does not know."""
        self.consumers.pop(at, None)

    @rule(at=PLACES, ahead=st.integers(1, 3))
    def commit(self, at, ahead):
        consumer = self.consumers.get(at)
        if consumer is None:
            return
        is_classic = isinstance(consumer, ClassicConsumer)
        epoch = consumer.generation if is_classic else consumer.epoch
        for topic_id, parts in (consumer.owned if is_classic else consumer.assigned).items():
            topic = self.world.topics.name_of(topic_id)
            for partition in parts:
                part = topic, partition
                unanswered = self.unanswered.setdefault(part, set())
                offset = max(self.acked.get(part, 0), *unanswered, 0) + ahead
                error = self.world.commit(consumer.member_id, epoch, topic, partition, offset)
                if error is ErrorCode.NONE:
                    self.acked[part] = offset
                    unanswered.clear()
                elif error is ErrorCode.NOT_COORDINATOR:
                    unanswered.add(offset)

    # --- time, topics, coordinators

    @rule(beats=st.integers(1, 14))
    def pass_time(self, beats):
        for _ in range(beats):
            self.world.pass_time(BEAT_MS)
            for at in list(self.consumers):
                self._speak(at)

    @rule(more=st.integers(1, 2))
    def grow_topic(self, more):
        self.world.change_topic("foo", self.world.topics.partitions_of("foo") + more)
        for consumer in self.consumers.values():
            if isinstance(consumer, ClassicConsumer) and consumer.is_leader:
                consumer.has_to_join = True

    @rule()
    def take_over(self):
        self.world.reload()

    @rule(crash=st.sampled_from(["before", "after"]))
    def crash_at_the_next_write(self, crash):
        self.world.crash = crash

    @precondition(lambda self: self.world.batches)
    @rule(data=st.data())
    def load_a_compacted_log(self, data):
        self.world.crash = None
        self.world.reload()
        before = group_state(self.world)
        compacted = data.draw(legal_compactions(self.world.entries(), batch_starts=self.world.batch_starts()))
        self.world.reload(compacted)
        assert group_state(self.world) == before

    @rule()
    def come_to_rest(self):
        self.world.crash = None
        for _ in range(CONSUMER_SESSION_MS // BEAT_MS + REBALANCE_MS // BEAT_MS + 4):
            for at in list(self.consumers):
                self._speak(at)
            self.world.pass_time(BEAT_MS)
            self.two_owners()
        for at in list(self.consumers):
            self._speak(at)
        self._is_at_rest()

    def _is_at_rest(self):
        group = self.world.context.groups.get(GROUP)
        if not self.consumers:
            assert group is None or group.is_empty
            return
        assert group is not None
        assert group.state_name == "Stable"
        assert len(group.members) == len(self.consumers)
        protocols = {isinstance(consumer, ClassicConsumer) for consumer in self.consumers.values()}
        if protocols == {True} and self.policy.allows_downgrade:
            assert isinstance(group, ClassicGroup)
        assert protocols == {True} or not isinstance(group, ClassicGroup)
        topics = {topic for consumer in self.consumers.values() for topic in consumer.topics}
        read = {
            (self.world.topics.id_of(topic), partition)
            for topic in topics
            for partition in range(self.world.topics.partitions_of(topic))
        }
        assert {part for consumer in self.consumers.values() for part in _parts(consumer)} == read

    # --- what must hold

    @invariant()
    def two_owners(self):
        group = self.world.context.groups.get(GROUP)
        members = {} if group is None else group.members
        # Who was fenced and has not heard of it may work on what others have by now, in both protocols.
        known = [each for each in self.consumers.values() if each.member_id in members]
        for one, other in combinations(known, 2):
            assert not _parts(one) & _parts(other), (one.member_id, other.member_id)

    @invariant()
    def committed_offsets(self):
        if self.world.crash is None:
            found = self.world.committed()
            for part, unanswered in self.unanswered.items():
                assert found.get(part) in {self.acked.get(part), *unanswered}

    def _consumer(self, topics, instance, *, is_classic):
        if is_classic:
            return ClassicConsumer(self.world, *topics, assignor=self.assignor, instance=instance)
        self.made += 1
        return Consumer(self.world, f"m{self.made}", *topics, instance=instance)

    def _speak(self, at):
        consumer = self.consumers[at]
        if isinstance(consumer, ClassicConsumer):
            consumer.settle()
            if consumer.is_dead:
                del self.consumers[at]
            return
        error = consumer.beat()
        if error is ErrorCode.NOT_COORDINATOR:
            consumer.is_full_next = True
        elif error in {ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNRELEASED_INSTANCE_ID}:
            del self.consumers[at]


def _parts(consumer):
    owned = consumer.owned if isinstance(consumer, ClassicConsumer) else consumer.told
    return {(topic_id, partition) for topic_id, parts in owned.items() for partition in parts}


@pytest.mark.slow
def test_any_history():
    run_state_machine_as_test(AnyHistory, settings=settings(max_examples=25, stateful_step_count=40, deadline=None))


@pytest.mark.full
@pytest.mark.slow
def test_any_of_many_more_histories():
    run_state_machine_as_test(AnyHistory, settings=settings(max_examples=1_000, stateful_step_count=60, deadline=None))
