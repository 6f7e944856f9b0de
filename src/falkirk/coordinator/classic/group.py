"""A group of the classic protocol, or of offsets alone: its members, its generation, and what they may do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.coordinator.classic.state import VALID_PREVIOUS_STATES, ClassicGroupState
from falkirk.coordinator.classic.subscribed_topics import subscribed_topics
from falkirk.coordinator.record_type import GroupType
from falkirk.coordinator.records.classic_records import group_metadata_tombstone
from falkirk.protocol.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.java_hash_map import map_order

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from falkirk.coordinator.classic.member import ClassicMember, WaitingRequest
    from falkirk.coordinator.shard.outcome import CoordinatorRecord
    from falkirk.protocol.messages.join_group_request import JoinGroupRequestProtocol


class ClassicGroup:
    """Kafka's ClassicGroup. Who changes it is ClassicProtocol (or a conversion); it knows neither time nor answers.

    `current_state_timestamp_ms` None: from a record of before Kafka 2.1. `protocol_type` and `leader_id` are empty
    where there is none; without members a group keeps its protocol type.
    """

    def __init__(self, group_id: str, *, now_ms: int | None, protocol_type: str = "", generation_id: int = 0) -> None:
        self.group_id = group_id
        self.protocol_type = protocol_type
        self.generation_id = generation_id
        self.state = ClassicGroupState.EMPTY
        self.previous_state = ClassicGroupState.DEAD
        self.current_state_timestamp_ms = now_ms
        self.protocol_name: str | None = None
        self.leader_id = ""
        self.members: dict[str, ClassicMember] = {}
        self.static_members: dict[str, str] = {}
        """Member ids by group.instance.id."""
        self.pending_joins: set[str] = set()
        """Ids that were given out (MEMBER_ID_REQUIRED) and did not join yet."""
        # In order: they are gone through, and a run must not depend on the hashes of strings.
        self.pending_syncs: dict[str, None] = {}
        self.waiting_joins = 0
        self.subscribed_topics: frozenset[str] | None = None
        self.is_new_member_added = False
        """A member came while an initial rebalance waited; the next such wait may use it up, as in Kafka."""
        self._supporters: dict[str, int] = {}

    @classmethod
    def stable(
        cls,
        group_id: str,
        members: Iterable[ClassicMember],
        *,
        now_ms: int | None,
        protocol_type: str,
        generation_id: int,
        protocol_name: str | None = None,
        leader_id: str = "",
    ) -> ClassicGroup:
        """Make a group of members that have their assignments: out of a record, or of a group of another type.

        `protocol_name` None: what they vote for. Without a leader the first member is it; without members it is Empty.
        """
        group = cls(group_id, now_ms=now_ms, protocol_type=protocol_type, generation_id=generation_id)
        group.leader_id = leader_id
        for member in members:
            group.add(member)
        if group.members:
            group.state = ClassicGroupState.STABLE
            group.protocol_name = group.select_protocol() if protocol_name is None else protocol_name
        group.find_subscribed_topics()
        return group

    # --- what every group says

    @property
    def type(self) -> GroupType:
        """CLASSIC, also where it holds but offsets."""
        return GroupType.CLASSIC

    @property
    def state_name(self) -> str:
        """`Empty`, `PreparingRebalance`, `CompletingRebalance` or `Stable`."""
        return self.state.value

    @property
    def is_empty(self) -> bool:
        """Say whether it has no members. One whose first members are joining is not empty any more."""
        return self.state is ClassicGroupState.EMPTY

    @property
    def is_simple(self) -> bool:
        """Say whether it is but a holder of offsets: it never had members."""
        return not self.protocol_type and self.is_empty and not self.pending_joins

    def why_commit_refused(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        *,
        is_transactional: bool,
        version: int,  # noqa: ARG002  (no version of either request is judged differently)
    ) -> ErrorCode:
        """Say whether a member, or (generation -1) whoever is none, may commit offsets.

        NONE, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, or REBALANCE_IN_PROGRESS: the member knows its
        generation, but not yet its assignment.
        """
        if generation_id < 0 and self.is_empty:
            return ErrorCode.NONE
        if generation_id >= 0 or member_id or group_instance_id is not None:
            error = self.why_member_refused(member_id, group_instance_id)
            if error is not ErrorCode.NONE:
                return error
            if generation_id != self.generation_id:
                return ErrorCode.ILLEGAL_GENERATION
        elif not is_transactional and not self.is_empty:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if not is_transactional and self.state is ClassicGroupState.COMPLETING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def why_fetch_refused(self, member_id: str | None, member_epoch: int) -> ErrorCode:  # noqa: ARG002
        """Give NONE: anyone may fetch the offsets of a classic group."""
        return ErrorCode.NONE

    def why_not_deletable(self) -> ErrorCode:
        """Say whether DeleteGroups may delete it: NONE or NON_EMPTY_GROUP."""
        return ErrorCode.NONE if self.is_empty else ErrorCode.NON_EMPTY_GROUP

    def is_subscribed_to(self, topic: str) -> bool:
        """Say whether a member reads a topic; where subscriptions are unknown or do not parse, a consumer might."""
        if self.subscribed_topics is None:
            return self.protocol_type == CONSUMER_PROTOCOL_TYPE
        return topic in self.subscribed_topics

    def offsets_expire_since(self, topic: str, commit_timestamp_ms: int) -> int | None:
        """Give from when the retention of a committed offset counts (ms); None: it does not expire now (KIP-211).

        Since the group became empty; while consumers are Stable, since the commit, if none reads the topic; since the
        commit where there never were members.
        """
        if self.is_subscribed_to(topic):
            return None
        if not self.protocol_type:
            return commit_timestamp_ms
        if self.is_empty:
            since = self.current_state_timestamp_ms
            return commit_timestamp_ms if since is None else since
        knows_topics = self.protocol_type == CONSUMER_PROTOCOL_TYPE and self.subscribed_topics is not None
        return commit_timestamp_ms if knows_topics and self.state is ClassicGroupState.STABLE else None

    def deletion_records(self) -> Sequence[CoordinatorRecord]:
        """Give the tombstone of its one record."""
        return (group_metadata_tombstone(self.group_id),)

    # --- members

    def why_member_refused(self, member_id: str, group_instance_id: str | None) -> ErrorCode:
        """Say whether it is a member: NONE, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID (another has its instance id)."""
        if group_instance_id is not None:
            holder = self.static_members.get(group_instance_id)
            if holder is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if holder != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def add(self, member: ClassicMember) -> None:
        """Add a member whose instance id nobody has; the first one is the leader, if there is none."""
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self.static_members
            self.static_members[member.group_instance_id] = member.member_id
        assert member.member_id not in self.members
        self.leader_id = self.leader_id or member.member_id
        self.members[member.member_id] = member
        self._count_protocols(member, 1)
        if member.waiting_join is not None:
            self.waiting_joins += 1
        self.pending_joins.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """Forget a member, or an id that was given out; whoever came first of those who stay succeeds a leader."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count_protocols(member, -1)
            if member.waiting_join is not None:
                self.waiting_joins -= 1
            if member.group_instance_id is not None:
                self.static_members.pop(member.group_instance_id)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), "")
        self.pending_joins.discard(member_id)
        self.pending_syncs.pop(member_id, None)

    def rename(self, member: ClassicMember, member_id: str) -> None:
        """Give a static member, none of whose requests waits, another member id."""
        assert member.group_instance_id is not None
        assert member.waiting_join is None
        assert member.waiting_sync is None
        self.members.pop(member.member_id)
        if self.leader_id == member.member_id:
            self.leader_id = member_id
        if member.member_id in self.pending_syncs:
            self.pending_syncs.pop(member.member_id)
            self.pending_syncs[member_id] = None
        member.member_id = member_id
        # Who came back knows how to: like any member it may wait for a rebalance without heartbeats.
        member.is_new = False
        self.members[member_id] = member
        self.static_members[member.group_instance_id] = member_id

    def update(
        self,
        member: ClassicMember,
        protocols: list[JoinGroupRequestProtocol],
        *,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
    ) -> None:
        """Take what a member says when it joins again."""
        self._count_protocols(member, -1)
        member.protocols = protocols
        self._count_protocols(member, 1)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def wait_for_join(self, member: ClassicMember, request: WaitingRequest | None) -> None:
        """Keep the JoinGroup that a member waits for an answer to; None: it does not wait any more."""
        self.waiting_joins += (request is not None) - (member.waiting_join is not None)
        member.waiting_join = request

    @property
    def have_all_joined(self) -> bool:
        """Say whether all members, and all to whom an id was given, wait for the rebalance to complete."""
        return len(self.members) == self.waiting_joins and not self.pending_joins

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of its members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def elect_leader_who_joined(self) -> bool:
        """Let the leader stay if it joined again, else the first member that did succeeds it; False: none did."""
        leader = self.members.get(self.leader_id)
        if leader is not None and leader.waiting_join is not None:
            return True
        joined = next((member.member_id for member in self.members.values() if member.waiting_join is not None), None)
        self.leader_id = joined or self.leader_id
        return joined is not None

    # --- protocols and generations

    def supports(self, protocol_type: str, protocol_names: Collection[str]) -> bool:
        """Say whether a member may join with these: one must be supported by all."""
        if self.is_empty:
            return bool(protocol_type and protocol_names)
        size = len(self.members)
        return self.protocol_type == protocol_type and any(
            self._supporters.get(name, 0) == size for name in protocol_names
        )

    def select_protocol(self) -> str:
        """Give the protocol that most members prefer, of those that all support.

        Of several with equally many votes, Kafka's new coordinator takes the first in its hash map.
        """
        size = len(self.members)
        candidates = {name for name, supporters in self._supporters.items() if supporters == size}
        votes: dict[str, int] = {}
        for member in self.members.values():
            name = member.vote(candidates)
            votes[name] = votes.get(name, 0) + 1
        # The first of those with most votes.
        return max(map_order(list(votes)), key=votes.__getitem__)

    def begin_generation(self, now_ms: int) -> None:
        """End the join phase: CompletingRebalance with the protocol that was voted for, or Empty without members."""
        self.generation_id += 1
        self.protocol_name = self.select_protocol() if self.members else None
        self.find_subscribed_topics()
        has_members = bool(self.members)
        self.transition_to(ClassicGroupState.COMPLETING_REBALANCE if has_members else ClassicGroupState.EMPTY, now_ms)
        self.pending_syncs.clear()

    def transition_to(self, state: ClassicGroupState, now_ms: int) -> None:
        """Go into a state that may follow."""
        assert self.state in VALID_PREVIOUS_STATES[state], (self.state, state)
        self.previous_state, self.state = self.state, state
        self.current_state_timestamp_ms = now_ms

    @property
    def can_rebalance(self) -> bool:
        """Say whether a rebalance may begin: unless one has."""
        return self.state in VALID_PREVIOUS_STATES[ClassicGroupState.PREPARING_REBALANCE]

    def subscriptions(self) -> dict[str, bytes]:
        """Give by member what it said under the group's protocol."""
        return {member_id: member.metadata(self.protocol_name) for member_id, member in self.members.items()}

    def find_subscribed_topics(self) -> None:
        """Read the members' subscriptions anew, if they are consumers and the protocol is known."""
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            self.subscribed_topics = None
        elif not self.members:
            self.subscribed_topics = frozenset()
        else:
            self.subscribed_topics = (
                None if self.protocol_name is None else subscribed_topics(self.subscriptions().values())
            )

    def _count_protocols(self, member: ClassicMember, change: int) -> None:
        for name in member.protocol_names:
            self._supporters[name] = self._supporters.get(name, 0) + change
