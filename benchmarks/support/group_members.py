"""Many group members at one coordinator, each on a connection of its own, driven as fast as it answers.

    members = GroupMembers(port)
    members.add(consumer_member("group", number, topic_ids))
    members.run(lambda: all(each.epoch > 0 for each in members.memberships))

The members' clock advances while none of them has anything to do, so none of their waits (for the next heartbeat) is
measured.
"""

import heapq
import selectors
import socket
import time
from collections.abc import Callable, Mapping
from itertools import count

from falkirk.coordinator.membership.classic_membership import ClassicMembership, ClassicSettings
from falkirk.coordinator.membership.consumer_membership import ConsumerMembership, ConsumerSettings
from falkirk.protocol.connection import Connection, ResponseReceived, Role
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    MetadataRequest,
    MetadataResponse,
    SyncGroupRequest,
)
from falkirk.protocol.messages.consumer_protocol_assignment import TopicPartition
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic
from falkirk.protocol.schema import WireMessage
from support.load import CLIENT_ID, ask

VERSIONS: dict[type[WireMessage], int] = {
    JoinGroupRequest: 9,
    SyncGroupRequest: 5,
    HeartbeatRequest: 4,
    LeaveGroupRequest: 5,
    ConsumerGroupHeartbeatRequest: 1,
}
VERSION_OF_KEY = {request.SCHEMA.info.key: version for request, version in VERSIONS.items()}
# What keeps members alive that are not heard while the other side has its turn.
PATIENT_PROPERTIES = {
    "group.consumer.max.session.timeout.ms": 1_800_000,
    "group.consumer.session.timeout.ms": 1_800_000,
}
SESSION_TIMEOUT_MS = 1_800_000
WAIT_S = 120
Membership = ClassicMembership | ConsumerMembership


class GroupMembers:
    """`memberships`: those that have not left."""

    def __init__(self, port: int) -> None:
        self.memberships: list[Membership] = []
        self._port = port
        self._selector = selectors.DefaultSelector()
        self._due: list[tuple[int, int, _Member]] = []
        self._numbers = count()
        self._asking = 0
        self._skipped_ms = 0

    def add(self, membership: Membership) -> None:
        """Let a member join."""
        membership.found_coordinator()
        member = _Member(membership, self._port)
        self._selector.register(member.sock, selectors.EVENT_READ, member)
        self.memberships.append(membership)
        self._plan(member)

    def remove(self, membership: Membership) -> None:
        """Let a member leave, and wait until it has."""
        membership.leave()
        (member,) = (key.data for key in self._selector.get_map().values() if key.data.membership is membership)
        self._plan(member)
        self.run(lambda: membership.has_left)
        self.memberships.remove(membership)
        self._selector.unregister(member.sock)
        member.sock.close()

    def hurry(self) -> None:
        """Advance the members' clock until each has its next heartbeat to send."""
        self._skipped_ms += max(when for when, _, member in self._due if not member.membership.has_left)

    def run(self, is_over: Callable[[], bool]) -> None:
        """Run the members until a condition holds, which is checked when none waits for a response."""
        deadline = time.monotonic() + WAIT_S
        while self._asking or not is_over():
            assert time.monotonic() < deadline, "the group does not come to rest"
            if not self._asking and self._due:
                self._skipped_ms += max(0, self._due[0][0] - self._now_ms())
            now_ms = self._now_ms()
            while self._due and self._due[0][0] <= now_ms:
                self._send(heapq.heappop(self._due)[2], now_ms)
            for key, _ in self._selector.select(1 if self._asking else 0):
                self._receive(key.data)

    def close(self) -> None:
        for key in list(self._selector.get_map().values()):
            key.data.sock.close()
        self._selector.close()

    def _now_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000 + self._skipped_ms

    def _plan(self, member: "_Member") -> None:
        when = member.membership.next_wakeup_ms
        if when is not None:
            heapq.heappush(self._due, (when, next(self._numbers), member))

    def _send(self, member: "_Member", now_ms: int) -> None:
        request = member.membership.due(now_ms, VERSION_OF_KEY.get)
        if request is not None:
            _, data = member.connection.send_request(request, VERSIONS[type(request)])
            member.sock.sendall(data)
            self._asking += 1

    def _receive(self, member: "_Member") -> None:
        received = member.sock.recv(1 << 20)
        assert received, "the coordinator has closed the connection"
        for event in member.connection.receive_data(received):
            assert isinstance(event, ResponseReceived)
            self._asking -= 1
            now_ms = self._now_ms()
            membership = member.membership
            membership.answered(event.message(), now_ms)
            assert membership.failure is None, membership.failure
            # A coordinator that has just begun to be one is asked again.
            membership.found_coordinator()
            when = membership.next_wakeup_ms
            if when is not None and when <= now_ms:
                self._send(member, now_ms)
            else:
                self._plan(member)


class _Member:
    def __init__(self, membership: Membership, port: int) -> None:
        self.membership = membership
        self.connection = Connection(role=Role.CLIENT, client_id=CLIENT_ID)
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def classic_member(group_id: str, topic: str, partitions: int) -> ClassicMembership:
    """Make a member that assigns the partitions round robin if it leads."""

    def assign(
        members: Mapping[str, ConsumerProtocolSubscription],
    ) -> Mapping[str, ConsumerProtocolAssignment]:
        return {
            member_id: ConsumerProtocolAssignment([TopicPartition(topic, list(range(at, partitions, len(members))))])
            for at, member_id in enumerate(members)
        }

    settings = ClassicSettings(group_id=group_id, session_timeout_ms=SESSION_TIMEOUT_MS)
    return ClassicMembership(settings, subscribe=lambda: ConsumerProtocolSubscription([topic]), assign=assign)


def consumer_member(group_id: str, topic: str, topic_id: bytes, number: int) -> ConsumerMembership:
    """Make a member of a consumer group; the broker assigns."""
    return ConsumerMembership(
        ConsumerSettings(group_id=group_id, topics=(topic,)),
        member_id=f"member-{number:06}",
        name_of={topic_id: topic}.get,
    )


def topic_id_of(port: int, topic: str) -> bytes:
    answer = ask(port, MetadataRequest([MetadataRequestTopic(name=topic)]), 12, MetadataResponse)
    return answer.topics[0].topic_id


def await_coordinator(port: int, group_id: str) -> None:
    """Create `__consumer_offsets`, and wait until a group has its coordinator."""
    deadline = time.monotonic() + WAIT_S
    request = FindCoordinatorRequest(coordinator_keys=[group_id])
    while ask(port, request, 4, FindCoordinatorResponse).coordinators[0].error_code != ErrorCode.NONE:
        assert time.monotonic() < deadline, "no coordinator"
        time.sleep(0.1)
