"""A member of the classic protocol: it joins, the leader assigns, all members sync, then heartbeats.

Eager: it revokes all partitions before it joins again. Sources: JoinGroup (11), SyncGroup (14), Heartbeat (12),
LeaveGroup (13), KIP-394 (MEMBER_ID_REQUIRED).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.membership.membership import Membership
from falkirk.protocol.consumer_protocol import CONSUMER_PROTOCOL_TYPE, decode_embedded, encode_embedded
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from falkirk.protocol.messages.join_group_request import JoinGroupRequestProtocol
from falkirk.protocol.messages.leave_group_request import MemberIdentity
from falkirk.protocol.messages.sync_group_request import SyncGroupRequestAssignment
from falkirk.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from falkirk.coordinator.membership.membership import Versions
    from falkirk.protocol.schema import WireMessage

    Assign: TypeAlias = Callable[[Mapping[str, ConsumerProtocolSubscription]], Mapping[str, ConsumerProtocolAssignment]]
    Subscribe: TypeAlias = Callable[[], ConsumerProtocolSubscription]


_LEAVE_GROUP: Final = 13
_FIRST_WITH_MEMBERS: Final = 3
_NO_GENERATION: Final = -1
_EMBEDDED_VERSION: Final = 1
_ANEW: Final = frozenset({ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID})


class State(enum.Enum):
    """The member's progress in the current generation."""

    UNJOINED = enum.auto()
    JOINED = enum.auto()
    """The generation is known, the assignment is not."""
    STABLE = enum.auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicSettings:
    """Times in ms. `protocol_name`: the assignor that all members use."""

    group_id: str
    protocol_name: str = "range"
    session_timeout_ms: int = 45_000
    rebalance_timeout_ms: int = 300_000
    heartbeat_interval_ms: int = 3_000
    group_instance_id: str | None = None


class ClassicMembership(Membership):
    """`subscribe` returns its subscription; `assign` returns all members' assignments, by member id, when it leads.

    `on_assignment` is called with each assignment that it receives.
    """

    def __init__(
        self,
        settings: ClassicSettings,
        *,
        subscribe: Subscribe,
        assign: Assign,
        on_assignment: Callable[[ConsumerProtocolAssignment], None] = lambda _: None,
    ) -> None:
        super().__init__(settings.group_id, "")
        self.state = State.UNJOINED
        self.is_leader = False
        self._settings = settings
        self._subscribe = subscribe
        self._assign = assign
        self._on_assignment = on_assignment
        self._generation = _NO_GENERATION
        self._members: Mapping[str, ConsumerProtocolSubscription] = {}

    @property
    def epoch(self) -> int:
        """The generation; -1 before it has joined."""
        return self._generation

    def answered(self, response: WireMessage, now_ms: int) -> None:
        """Apply the response to the last request."""
        self._is_asking = False
        self._next_ms = now_ms
        match response:
            case JoinGroupResponse():
                self._joined(response, now_ms)
            case SyncGroupResponse():
                self._synced(response, now_ms)
            case HeartbeatResponse():
                self._next_ms = now_ms + self._settings.heartbeat_interval_ms
                self._refused(response.error_code, now_ms)
            case LeaveGroupResponse():
                self.has_left = not self._is_put_off(response.error_code, now_ms)
            case _:
                raise AssertionError(f"no request of a member is answered by {type(response).__name__}")

    def lost(self, now_ms: int) -> None:
        """Record that the last request got no response; a SyncGroup is not repeated, see `_synced`."""
        super().lost(now_ms)
        if self.state is State.JOINED:
            self.state = State.UNJOINED

    def rejoin(self, now_ms: int) -> None:
        """Make the group rebalance, as the leader has new information."""
        self._give_up()
        self._next_ms = now_ms

    @property
    def _is_known(self) -> bool:
        return bool(self.member_id)

    def _farewell(self, versions: Versions) -> WireMessage:
        version = versions(_LEAVE_GROUP)
        if version is None or version < _FIRST_WITH_MEMBERS:
            return LeaveGroupRequest(self.group_id, self.member_id)
        leaver = MemberIdentity(self.member_id, self._settings.group_instance_id)
        return LeaveGroupRequest(self.group_id, members=[leaver])

    def _request(self) -> WireMessage:
        settings, instance = self._settings, self._settings.group_instance_id
        if self.state is State.UNJOINED:
            protocol = JoinGroupRequestProtocol(
                settings.protocol_name, encode_embedded(self._subscribe(), _EMBEDDED_VERSION)
            )
            return JoinGroupRequest(
                group_id=self.group_id,
                session_timeout_ms=settings.session_timeout_ms,
                rebalance_timeout_ms=settings.rebalance_timeout_ms,
                member_id=self.member_id,
                group_instance_id=instance,
                protocol_type=CONSUMER_PROTOCOL_TYPE,
                protocols=[protocol],
            )
        if self.state is State.JOINED:
            assignments = self._assign(self._members) if self.is_leader else {}
            return SyncGroupRequest(
                group_id=self.group_id,
                generation_id=self._generation,
                member_id=self.member_id,
                group_instance_id=instance,
                protocol_type=CONSUMER_PROTOCOL_TYPE,
                protocol_name=settings.protocol_name,
                assignments=[
                    SyncGroupRequestAssignment(member_id, encode_embedded(assignment, _EMBEDDED_VERSION))
                    for member_id, assignment in assignments.items()
                ],
            )
        return HeartbeatRequest(self.group_id, self._generation, self.member_id, instance)

    def _joined(self, response: JoinGroupResponse, now_ms: int) -> None:
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            return
        if self._refused(response.error_code, now_ms):
            return
        self.member_id = response.member_id
        self._generation = response.generation_id
        self.is_leader = response.leader == response.member_id
        self._members = {
            member.member_id: decode_embedded(ConsumerProtocolSubscription, member.metadata)
            for member in response.members
        }
        self.state = State.JOINED

    def _synced(self, response: SyncGroupResponse, now_ms: int) -> None:
        """Take the assignment. Whatever the error, the member joins again, as in Kafka.

        A repeated SyncGroup may be answered with the assignment of the first one, of which the leader knows no more.
        """
        self.state = State.UNJOINED
        if self._refused(response.error_code, now_ms):
            return
        assignment = ConsumerProtocolAssignment()
        if response.assignment:
            assignment = decode_embedded(ConsumerProtocolAssignment, response.assignment)
        self.state = State.STABLE
        self._next_ms = now_ms + self._settings.heartbeat_interval_ms
        if self._is_leaving:
            return
        self.assigned = frozenset(
            TopicPartition(topic.topic, partition)
            for topic in assignment.assigned_partitions
            for partition in topic.partitions
        )
        self._on_assignment(assignment)

    def _refused(self, error: int, now_ms: int) -> bool:
        """Handle an error response; return whether it was one."""
        if error == ErrorCode.NONE:
            return False
        if self._is_put_off(error, now_ms):
            return True
        if error in _ANEW:
            self._give_up()
            if error == ErrorCode.UNKNOWN_MEMBER_ID:
                self.member_id = ""
            self._next_ms = now_ms
        else:
            self._give_up()
            self.failure = ErrorCode(error)
        return True

    def _give_up(self) -> None:
        self.assigned = frozenset()
        self.state = State.UNJOINED
