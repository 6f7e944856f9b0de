"""A group of the classic protocol, or of offsets alone: its members, its generation, its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.classic.state import VALID_PREVIOUS_STATES, ClassicGroupState
from falkirk.coordinator.records.record_type import GroupType
from falkirk.coordinator.runtime.outcome import CoordinatorRecord
from falkirk.protocol import codec
from falkirk.protocol.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.java_hash_map import map_order
from falkirk.protocol.messages import ConsumerProtocolSubscription, GroupMetadataKey

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from falkirk.coordinator.classic.member import ClassicMember, WaitingRequest
    from falkirk.protocol.messages.join_group_request import JoinGroupRequestProtocol


SUBSCRIBED_TOPICS_MAX = 50_000
"""How many topics members may name that do not all name the same ones: some 15 ms are spent to read them."""
_VERSION_BYTES: Final = 2
_LENGTH_BYTES: Final = 4


def group_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    """Return the record that deletes a classic group."""
    return CoordinatorRecord(GroupMetadataKey(group=group_id))


class ClassicGroup:
    """Kafka's ClassicGroup. ClassicProtocol and conversions change it; it knows neither time nor responses.

    `current_state_timestamp_ms` None: from a record written before Kafka 2.1. `protocol_type` and `leader_id` are empty
    where there is none; a group without members keeps its protocol type.
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
        """Return a group of members that have their assignments: from a record, or from a group of another type.

        `protocol_name` None: the one they vote for. Without `leader_id` the first member leads; without members it is
        Empty.
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
        """CLASSIC, also for a group of offsets alone."""
        return GroupType.CLASSIC

    @property
    def state_name(self) -> str:
        """`Empty`, `PreparingRebalance`, `CompletingRebalance` or `Stable`."""
        return self.state.value

    @property
    def is_empty(self) -> bool:
        """True without members. A group whose first members are joining is no longer empty."""
        return self.state is ClassicGroupState.EMPTY

    @property
    def is_simple(self) -> bool:
        """True if it only holds offsets and never had members."""
        return not self.protocol_type and self.is_empty and not self.pending_joins

    def commit_error(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        *,
        is_transactional: bool,
        version: int,  # noqa: ARG002  (no version of either request is judged differently)
    ) -> ErrorCode:
        """Return the error of an offset commit by a member, or (generation -1) by a client that is not a member.

        NONE, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, or REBALANCE_IN_PROGRESS: the member knows its
        generation, but not yet its assignment.
        """
        if generation_id < 0 and self.is_empty:
            return ErrorCode.NONE
        if generation_id >= 0 or member_id or group_instance_id is not None:
            error = self.member_error(member_id, group_instance_id)
            if error is not ErrorCode.NONE:
                return error
            if generation_id != self.generation_id:
                return ErrorCode.ILLEGAL_GENERATION
        elif not is_transactional and not self.is_empty:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if not is_transactional and self.state is ClassicGroupState.COMPLETING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def fetch_error(self, member_id: str | None, member_epoch: int) -> ErrorCode:  # noqa: ARG002
        """Return NONE: anyone may fetch the offsets of a classic group."""
        return ErrorCode.NONE

    def deletion_error(self) -> ErrorCode:
        """Return the error of DeleteGroups: NONE or NON_EMPTY_GROUP."""
        return ErrorCode.NONE if self.is_empty else ErrorCode.NON_EMPTY_GROUP

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether a member subscribes to a topic; True for consumers with unknown or broken subscriptions."""
        if self.subscribed_topics is None:
            return self.protocol_type == CONSUMER_PROTOCOL_TYPE
        return topic in self.subscribed_topics

    def offsets_expire_since(self, topic: str, commit_timestamp_ms: int) -> int | None:
        """Return when (ms) the retention of a committed offset starts; None: it does not expire now (KIP-211).

        That is when the group became empty; for a topic to which no consumer of a Stable group subscribes, the commit;
        for a group that never had members, the commit.
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
        """Return the tombstone of its one record."""
        return (group_metadata_tombstone(self.group_id),)

    # --- members

    def member_error(self, member_id: str, group_instance_id: str | None) -> ErrorCode:
        """Return NONE for a member, UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID if another member has its instance id."""
        if group_instance_id is not None:
            holder = self.static_members.get(group_instance_id)
            if holder is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if holder != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def add(self, member: ClassicMember) -> None:
        """Add a member whose instance id is free; it leads the group if there is no leader."""
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
        """Remove a member or a pending member id; the earliest remaining member succeeds a leader."""
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
        """Assign a new member id to a static member without waiting requests."""
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
        """Apply what a member sends when it joins again."""
        self._count_protocols(member, -1)
        member.protocols = protocols
        self._count_protocols(member, 1)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def wait_for_join(self, member: ClassicMember, request: WaitingRequest | None) -> None:
        """Store the JoinGroup that a member waits on; None: it no longer waits."""
        self.waiting_joins += (request is not None) - (member.waiting_join is not None)
        member.waiting_join = request

    @property
    def have_all_joined(self) -> bool:
        """True if all members and all pending member ids wait for the rebalance to complete."""
        return len(self.members) == self.waiting_joins and not self.pending_joins

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of its members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it joined again, else elect the first member that did; return False if none did."""
        leader = self.members.get(self.leader_id)
        if leader is not None and leader.waiting_join is not None:
            return True
        for member in self.members.values():
            if member.waiting_join is not None:
                self.leader_id = member.member_id
                return True
        return False

    # --- protocols and generations

    def supports(self, protocol_type: str, protocol_names: Collection[str]) -> bool:
        """Return whether a member with these protocols may join: all members must support one of them."""
        if self.is_empty:
            return bool(protocol_type and protocol_names)
        size = len(self.members)
        return self.protocol_type == protocol_type and any(
            self._supporters.get(name, 0) == size for name in protocol_names
        )

    def select_protocol(self) -> str:
        """Return the protocol with the most votes, of those that all members support.

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
        """End the join phase: CompletingRebalance with the elected protocol, or Empty without members."""
        self.generation_id += 1
        self.protocol_name = self.select_protocol() if self.members else None
        self.find_subscribed_topics()
        has_members = bool(self.members)
        self.transition_to(ClassicGroupState.COMPLETING_REBALANCE if has_members else ClassicGroupState.EMPTY, now_ms)
        self.pending_syncs.clear()

    def transition_to(self, state: ClassicGroupState, now_ms: int) -> None:
        """Enter a state that may follow the current one."""
        assert self.state in VALID_PREVIOUS_STATES[state], (self.state, state)
        self.previous_state, self.state = self.state, state
        self.current_state_timestamp_ms = now_ms

    @property
    def can_rebalance(self) -> bool:
        """True unless a rebalance is already in its join phase."""
        return self.state in VALID_PREVIOUS_STATES[ClassicGroupState.PREPARING_REBALANCE]

    def subscriptions(self) -> dict[str, bytes]:
        """Return each member's metadata for the group's protocol, by member id."""
        return {member_id: member.metadata(self.protocol_name) for member_id, member in self.members.items()}

    def find_subscribed_topics(self) -> None:
        """Parse the members' subscriptions again, if they are consumers and the protocol is known."""
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            self.subscribed_topics = None
        elif not self.members:
            self.subscribed_topics = frozenset()
        else:
            self.subscribed_topics = (
                None if self.protocol_name is None else _subscribed_topics(self.subscriptions().values())
            )

    def _count_protocols(self, member: ClassicMember, change: int) -> None:
        for name in member.protocol_names:
            self._supporters[name] = self._supporters.get(name, 0) + change


def _subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """Return the topics of all subscriptions (an int16 version, then ConsumerProtocolSubscription); None if one is bad.

    Every version begins like version 0, and is read as that. Members mostly name the same topics: these are read once.
    None also if they differ, and name more than SUBSCRIBED_TOPICS_MAX in all.
    """
    topics: set[str] = set()
    left = SUBSCRIBED_TOPICS_MAX
    # The bytes of the topics that were read last.
    known: bytes | None = None
    try:
        for subscription in dict.fromkeys(subscriptions):
            if known is not None and subscription.startswith(known, _VERSION_BYTES):
                if not _has_user_data(subscription, _VERSION_BYTES + len(known)):
                    return None
                continue
            left -= int.from_bytes(subscription[_VERSION_BYTES : _VERSION_BYTES + _LENGTH_BYTES])
            if left < 0:
                return None
            message, end = codec.decode_prefix(ConsumerProtocolSubscription, 0, subscription, _VERSION_BYTES)
            topics.update(message.topics)
            known = subscription[_VERSION_BYTES : end - _LENGTH_BYTES - len(message.user_data or b"")]
    except RemoteProtocolError:
        return None
    return frozenset(topics)


def _has_user_data(subscription: bytes, at: int) -> bool:
    end = at + _LENGTH_BYTES
    length = int.from_bytes(subscription[at:end], signed=True)
    return -1 <= length <= len(subscription) - end
