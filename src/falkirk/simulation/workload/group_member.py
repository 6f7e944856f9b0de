"""A group member that comes and goes: it joins, commits offsets of what it reads, and checks committed offsets.

In each of its lives it may choose the other protocol, so that groups are converted in both directions.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.membership.classic_membership import ClassicMembership, ClassicSettings, State
from falkirk.coordinator.membership.consumer_membership import ConsumerMembership, ConsumerSettings
from falkirk.coordinator.membership.feature_level import FeatureLevel
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    ConsumerGroupHeartbeatResponse,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from falkirk.protocol.messages.consumer_protocol_assignment import TopicPartition as AssignedTopic
from falkirk.protocol.messages.offset_commit_request import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from falkirk.protocol.messages.offset_fetch_request import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.protocol.uuid import random_uuid, uuid_text
from falkirk.simulation.history.group_history import Generation, GroupPartition, Holding
from falkirk.simulation.history.invariant import InvariantViolatedError
from falkirk.simulation.plans.group_plan import (
    CLASSIC,
    CONSUMER,
    HEARTBEAT_INTERVAL_MS,
    REBALANCE_TIMEOUT_MS,
    SESSION_TIMEOUT_MS,
)
from falkirk.simulation.workload.broker_client import BrokerClient
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.coordinator.membership.membership import Membership
    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage
    from falkirk.simulation.history.group_history import GroupHistory
    from falkirk.simulation.plans.group_plan import GroupPlan

_OFFSET_COMMIT: Final = 8
_FIND_COORDINATOR: Final = 10
_CONSUMER_GROUP_HEARTBEAT: Final = 68
_FIRST_WITH_MEMBER_EPOCHS: Final = 9
_OFFSET_FETCH: Final = 9
_FIRST_WITH_BATCHES: Final = 4
_FIRST_WITH_GROUPS: Final = 8
_LEVELS: Final = SupportedRange(0, 1)
_BACKOFF_MS: Final = 150
_COMMIT_INTERVAL_MS: Final = 200
# Of requests about offsets, once what was committed before is known.
_SHARE_OF_FETCHES: Final = 0.2
_POLL_INTERVAL_MS: Final = 300
_SHARE_OF_FAREWELLS: Final = 0.8
# A SyncGroup is none in a stable group, as in Kafka.
_SIGNS_OF_LIFE: Final = (ConsumerGroupHeartbeatResponse, HeartbeatResponse, JoinGroupResponse)
_MAY_END_IT: Final = frozenset(
    {
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
_NOT_DONE: Final = frozenset(
    {
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
    }
)
# The commit may be in the log despite this error.
_MAYBE_DONE: Final = frozenset(
    {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.REQUEST_TIMED_OUT}
)


class GroupMember(BrokerClient):
    """One member of a group, through all its lives."""

    def __init__(
        self, name: str, brokers: Mapping[int, Endpoint], chance: Chance, history: GroupHistory, *, plan: GroupPlan
    ) -> None:
        super().__init__(name, brokers, chance)
        self._history = history
        self._plan = plan
        self._lives = 0
        self._coordinator: int | None = None
        self._is_looking = False
        self._retry_at_ms = 0
        self._next_commit_ms = 0
        # Of the commit or fetch that is under way; and of what is read, what is known to be committed.
        self._is_asking_offsets = False
        self._fetched: frozenset[TopicPartition] = frozenset()
        self._sure_until_ms = 0
        self._protocol = ""
        self._given: Mapping[str, int] = {}
        self._next_poll_ms = 0
        self._is_polling = False
        self._membership = self._begin()

    @property
    def due_ms(self) -> int | None:
        """When the next request is due."""
        times = [self._retry_at_ms]
        if not self._membership.needs_coordinator:
            times = [each for each in (self._membership.next_wakeup_ms,) if each is not None]
        if not self.is_over:
            times.append(self._ends_at_ms)
        if self._may_ask_offsets:
            times.append(self._next_commit_ms)
        if self._plan.feature is not None and not self._is_polling:
            times.append(self._next_poll_ms)
        return min(times, default=None)

    def act(self) -> None:
        """Find the coordinator, run the membership, commit."""
        self._go_on_living()
        if self._membership.needs_coordinator:
            self._find_coordinator()
        elif self._coordinator is not None and self.connect(self._coordinator):
            self._ask_as_member(self._coordinator)
            self._ask_about_offsets(self._coordinator)
        self._poll()
        self._report()

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """The partitions that it owns."""
        return frozenset(self._membership.assigned)

    @property
    def is_settled(self) -> bool:
        """True if it is a member and has fetched the committed offsets of all its partitions."""
        return self._membership.epoch > 0 and self._fetched >= self.partitions and not self._is_asking_offsets

    @property
    def state(self) -> str:
        """The member's state as text for messages."""
        return f"{self._protocol} member at epoch {self._membership.epoch} with {sorted(self.partitions)}"

    # --- Lives

    def _begin(self, protocol: str | None = None) -> Membership:
        self._lives += 1
        self._protocol = protocol or self.chance.choice(self._plan.protocols)
        self._ends_at_ms = self.now_ms + 1 + self.chance.randrange(0, 2 * self._plan.life_ms)
        self._fetched = frozenset()
        self._sure_until_ms = 0
        # A new client does not know the level of its group.
        self._level = None if self._plan.feature is None else FeatureLevel(self._plan.feature, _LEVELS)
        if self._protocol == CLASSIC:
            settings = ClassicSettings(
                group_id=self._plan.group_id,
                session_timeout_ms=SESSION_TIMEOUT_MS,
                rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
                heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
            )
            return ClassicMembership(
                settings, subscribe=self._subscription, assign=self._assign, on_assignment=self._on_assignment
            )
        consumer = ConsumerSettings(
            group_id=self._plan.group_id, topics=(self._plan.topic,), rebalance_timeout_ms=REBALANCE_TIMEOUT_MS
        )
        member_id = uuid_text(random_uuid(self.chance))
        return ConsumerMembership(consumer, member_id=member_id, name_of=self._name_of)

    def _go_on_living(self) -> None:
        member = self._membership
        if member.failure is not None:
            if member.failure not in _MAY_END_IT:
                raise InvariantViolatedError("OneOwner", f"{self.name} is told {member.failure.name}")
            self.note(f"cannot be a {self._protocol} member: {member.failure.name}")
            # A group of the one protocol that a release or a policy does not convert takes members of that alone.
            self._start_anew(CLASSIC if self._protocol == CONSUMER else None)
            self._retry_at_ms = self.now_ms + _BACKOFF_MS
        elif member.has_left:
            self._start_anew()
        elif self.now_ms >= self._ends_at_ms and not self.is_over:
            self._ends_at_ms = self.now_ms + self._plan.life_ms
            if self.chance.random() < _SHARE_OF_FAREWELLS:
                member.leave()
            else:
                self.note("vanishes")
                self._start_anew()

    def _start_anew(self, protocol: str | None = None) -> None:
        self._membership = self._begin(protocol)

    def _subscription(self) -> ConsumerProtocolSubscription:
        return ConsumerProtocolSubscription((self._plan.topic,), None if self._level is None else self._level.user_data)

    def _assign(self, members: Mapping[str, ConsumerProtocolSubscription]) -> Mapping[str, ConsumerProtocolAssignment]:
        """Assign the partitions to the members in turn."""
        count, ids = self._partition_count, sorted(members)
        self._given = {self._plan.topic: count}
        level = None
        if self._level is not None:
            level = self._level.decide({each: members[each].user_data or b"" for each in ids})
        return {
            member_id: ConsumerProtocolAssignment(
                [AssignedTopic(self._plan.topic, tuple(range(place, count, len(ids))))], level
            )
            for place, member_id in enumerate(ids)
        }

    def _on_assignment(self, assignment: ConsumerProtocolAssignment) -> None:
        if self._level is not None and assignment.user_data is not None:
            before, decided = self._level.level, FeatureLevel("", _LEVELS)
            decided.apply(assignment.user_data)
            self._level.apply(assignment.user_data)
            generation = Generation(self._plan.group_id, self._membership.epoch)
            self._history.record_level(generation, self.name, before=before, level=decided.level)

    def _poll(self) -> None:
        """Request the finalized features from any broker, which may know less than another one has reported."""
        if self._level is None or self._is_polling or self.now_ms < self._next_poll_ms:
            return
        self._next_poll_ms = self.now_ms + _POLL_INTERVAL_MS
        broker_id = self.chance.choice(sorted(self.brokers))
        if self.connect(broker_id):
            self._is_polling = True
            self.ask(broker_id, ApiVersionsRequest("falkirk-simulation", "1"), self._polled)

    def _polled(self, response: WireMessage | None) -> None:
        self._is_polling = False
        if response is None or self._level is None:
            return
        assert isinstance(response, ApiVersionsResponse)
        levels = {each.name: each.max_version_level for each in response.finalized_features}
        member = self._membership
        if self._level.hear(levels) and isinstance(member, ClassicMembership) and member.is_leader:
            member.rejoin(self.now_ms)

    @property
    def level(self) -> int | None:
        """The level of the group's feature at which it runs; None if unknown."""
        return None if self._level is None else self._level.level

    @property
    def _partition_count(self) -> int:
        return sum(topic == self._plan.topic for topic, _ in self.places)

    def _name_of(self, topic_id: bytes) -> str | None:
        names = (topic for (topic, _), place in self.places.items() if place.topic_id == topic_id)
        return next(names, None)

    # --- Asking

    def _find_coordinator(self) -> None:
        if self._is_looking or self.now_ms < self._retry_at_ms:
            return
        self._retry_at_ms = self.now_ms + _BACKOFF_MS
        broker_id = self.chance.choice(sorted(self.brokers))
        if not self.connect(broker_id):
            return
        group_id, version = self._plan.group_id, self.version(broker_id, _FIND_COORDINATOR)
        if version is None:
            return
        request = FindCoordinatorRequest(group_id)
        if version >= _FIRST_WITH_BATCHES:
            request = FindCoordinatorRequest(coordinator_keys=(group_id,))
        self._is_looking = True
        self.ask(broker_id, request, self._found)

    def _found(self, response: WireMessage | None) -> None:
        self._is_looking = False
        if response is None:
            return
        assert isinstance(response, FindCoordinatorResponse)
        found = response.coordinators[0] if response.coordinators else response
        if found.error_code == ErrorCode.NONE and found.node_id in self.brokers:
            self._coordinator = found.node_id
            self._membership.found_coordinator()

    def _ask_as_member(self, coordinator: int) -> None:
        member = self._membership
        if isinstance(member, ClassicMembership) and self._has_grown(member):
            member.rejoin(self.now_ms)
        if self._protocol == CONSUMER and not self._speaks_consumer_protocol(coordinator):
            self._start_anew(CLASSIC)
            return
        request = member.due(self.now_ms, partial(self.version, coordinator))
        if request is None:
            return
        sent_ms = self.now_ms

        def done(response: WireMessage | None) -> None:
            if response is None:
                member.lost(self.now_ms)
                return
            member.answered(response, self.now_ms)
            # A coordinator that loads its log answers every classic heartbeat so, as in Kafka: it does not bring back a
            # session that has ended.
            is_blind = isinstance(response, HeartbeatResponse) and sent_ms > self._sure_until_ms
            if is_blind or member is not self._membership:
                return
            if isinstance(response, _SIGNS_OF_LIFE) and not response.error_code:
                self._sure_until_ms = sent_ms + min(SESSION_TIMEOUT_MS, REBALANCE_TIMEOUT_MS)

        self.ask(coordinator, request, done)

    def _speaks_consumer_protocol(self, coordinator: int) -> bool:
        """Return whether the coordinator has the protocol, and this client an OffsetCommit version for its members."""
        return (
            self.version(coordinator, _CONSUMER_GROUP_HEARTBEAT) is not None
            and (self.version(coordinator, _OFFSET_COMMIT) or 0) >= _FIRST_WITH_MEMBER_EPOCHS
        )

    def _has_grown(self, member: ClassicMembership) -> bool:
        """Return whether the topic has more partitions than the leader has assigned."""
        given = self._given.get(self._plan.topic)
        is_content = member.is_leader and member.state is State.STABLE
        return is_content and given is not None and self._partition_count > given

    # --- Offsets

    @property
    def _may_ask_offsets(self) -> bool:
        member = self._membership
        if self._is_asking_offsets or member.needs_coordinator or not member.assigned or member.epoch < 0:
            return False
        return not self.is_over or not self._fetched >= self.partitions

    def _ask_about_offsets(self, coordinator: int) -> None:
        if not self._may_ask_offsets or self.now_ms < self._next_commit_ms:
            return
        self._next_commit_ms = self.now_ms + 1 + self.chance.randrange(0, 2 * _COMMIT_INTERVAL_MS)
        if not self._fetched >= self.partitions or self.chance.random() < _SHARE_OF_FETCHES:
            self._fetch(coordinator)
        elif not self.is_over:
            self._commit(coordinator)

    def _commit(self, coordinator: int) -> None:
        member, topic = self._membership, self._plan.topic
        offsets = {each: self._history.next_offset(self._key(each)) for each in sorted(member.assigned)}
        requested = [OffsetCommitRequestPartition(each.partition, offset) for each, offset in offsets.items()]
        request = OffsetCommitRequest(
            group_id=self._plan.group_id,
            generation_id_or_member_epoch=member.epoch,
            member_id=member.member_id,
            topics=[OffsetCommitRequestTopic(name=topic, topic_id=self._topic_id, partitions=requested)],
        )
        self._is_asking_offsets = True

        def done(response: WireMessage | None) -> None:
            self._is_asking_offsets = False
            if response is None:
                return
            assert isinstance(response, OffsetCommitResponse)
            for each in response.topics[0].partitions:
                partition = TopicPartition(topic, each.partition_index)
                self._committed(partition, offsets[partition], each.error_code)

        self.ask(coordinator, request, done)

    def _committed(self, partition: TopicPartition, offset: int, error: int) -> None:
        key = self._key(partition)
        if error == ErrorCode.NONE:
            self._history.record_acked(key, offset)
        elif error in _NOT_DONE:
            self._history.record_refused(key, offset)
        elif error not in _MAYBE_DONE:
            raise InvariantViolatedError("CommittedOffsetsStay", f"{self.name} is told {ErrorCode(error).name}")

    def _fetch(self, coordinator: int) -> None:
        topic, wanted = self._plan.topic, self.partitions
        version = self.version(coordinator, _OFFSET_FETCH)
        if version is None:
            return
        numbers = tuple(sorted(each.partition for each in wanted))
        begun = {each: self._history.fetch_begins(self._key(each)) for each in wanted}
        if version >= _FIRST_WITH_GROUPS:
            requested = OffsetFetchRequestTopics(name=topic, topic_id=self._topic_id, partition_indexes=numbers)
            request = OffsetFetchRequest(
                groups=[OffsetFetchRequestGroup(group_id=self._plan.group_id, topics=[requested])]
            )
        else:
            request = OffsetFetchRequest(group_id=self._plan.group_id, topics=[OffsetFetchRequestTopic(topic, numbers)])
        self._is_asking_offsets = True

        def done(response: WireMessage | None) -> None:
            self._is_asking_offsets = False
            if response is None:
                return
            assert isinstance(response, OffsetFetchResponse)
            found = response.groups[0] if response.groups else response
            if found.error_code:
                return
            for each in found.topics[0].partitions:
                partition = TopicPartition(topic, each.partition_index)
                if each.error_code == ErrorCode.NONE:
                    offset = each.committed_offset
                    self._history.check_served(self._key(partition), offset, begun[partition], self.name)
                    self._fetched |= {partition}

        self.ask(coordinator, request, done)

    @property
    def _topic_id(self) -> bytes:
        place = self.places.get((self._plan.topic, 0))
        return ZERO_UUID if place is None else place.topic_id

    def _key(self, partition: TopicPartition) -> GroupPartition:
        return GroupPartition(self._plan.group_id, partition)

    def _report(self) -> None:
        self._fetched &= self.partitions
        self._history.record_holding(
            self._plan.group_id,
            self.name,
            Holding(self.partitions, self._sure_until_ms, self._membership.epoch, self._protocol),
            self.now_ms,
        )
