"""A shard with classic groups only: requests and responses as bytes, a clock that tests move, a log to reload from."""

from random import Random
from typing import TYPE_CHECKING, TypeVar, cast

from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.classic.protocol import ClassicProtocol
from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.coordinator.runtime.client import ClientContext
from falkirk.coordinator.runtime.context import ShardContext
from falkirk.coordinator.runtime.outcome import CoordinatorRecord, Outcome, Reply
from falkirk.coordinator.runtime.settings import GroupSettings
from falkirk.protocol import codec, messages
from falkirk.protocol.coordinator_record import decode_key, decode_value, encode_key, encode_value
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    GROUP_COORDINATOR_KEYS,
    GROUP_COORDINATOR_VALUES,
    ConsumerProtocolSubscription,
    GroupMetadataKey,
    GroupMetadataValue,
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
from falkirk.protocol.schema import WireMessage
from falkirk.versions.release import latest_release

if TYPE_CHECKING:
    from falkirk.coordinator.runtime.topics import Topics
    from falkirk.protocol.chance import Chance

GROUP = "g"
SESSION_MS = 10_000
REBALANCE_MS = 60_000
M = TypeVar("M", bound=WireMessage)


def subscription(*topics: str) -> bytes:
    """Return a consumer's subscription to these topics, as bytes."""
    return b"\0\0" + codec.encode(ConsumerProtocolSubscription(topics=topics), 0)


class ClassicWorld:
    """Applies outcomes as the runtime does. `answers` is keyed by token; a request may be answered once.

    `refusal`: the error with which the log refuses every append. Requests without an explicit version use the newest.
    """

    def __init__(
        self, *, kind: CoordinatorKind = CoordinatorKind.NEW, random: "Chance | None" = None, **settings: int
    ) -> None:
        self.settings = GroupSettings(**settings)  # type: ignore[arg-type]
        self.kind = kind
        self.log: list[tuple[bytes, bytes | None]] = []
        self.refusal: ErrorCode | None = None
        self.requests: list[tuple[str, int, int, bytes]] = []
        """All requests: name, version, token, bytes."""
        self.answers: dict[int, WireMessage] = {}
        self._asked: dict[int, tuple[str, int]] = {}
        self._last_token = 0
        self.random = random or Random(1)
        self.context = self._context(1_000_000)
        self.protocol = ClassicProtocol(self.context)

    # --- requests

    def join(
        self,
        member_id: str = "",
        *,
        version: int = 9,
        group: str = GROUP,
        instance: str | None = None,
        protocol_type: str = "consumer",
        protocols: dict[str, bytes] | None = None,
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        client_id: str = "c",
    ) -> int:
        """Send a JoinGroup and return its token."""
        protocols = {"range": subscription("t")} if protocols is None else protocols
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms if version else -1,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=name, metadata=data) for name, data in protocols.items()],
        )
        client = ClientContext(api_version=version, client_id=client_id)
        return self._ask(self.protocol.join_group, client, request)

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        *,
        version: int = 5,
        group: str = GROUP,
        instance: str | None = None,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = "range",
    ) -> int:
        """Send a SyncGroup and return its token; before version 5 it names no protocol."""
        request = SyncGroupRequest(
            group_id=group,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member_id=each, assignment=data)
                for each, data in (assignments or {}).items()
            ],
        )
        return self._ask(self.protocol.sync_group, ClientContext(api_version=version), request)

    def heartbeat(
        self, member_id: str, generation: int, *, version: int = 4, group: str = GROUP, instance: str | None = None
    ) -> ErrorCode:
        """Send a Heartbeat and return its error code."""
        request = HeartbeatRequest(
            group_id=group, generation_id=generation, member_id=member_id, group_instance_id=instance
        )
        token = self._ask(self.protocol.heartbeat, ClientContext(api_version=version), request)
        return ErrorCode(self.answer(token, HeartbeatResponse).error_code)

    def leave(self, *members: str | tuple[str, str | None], version: int = 5, group: str = GROUP) -> LeaveGroupResponse:
        """Send a LeaveGroup with member ids, or pairs of member id and instance id, and return the response."""
        identities = [
            MemberIdentity(member_id=each) if isinstance(each, str) else MemberIdentity(*each) for each in members
        ]
        request = LeaveGroupRequest(group_id=group, members=identities)
        if version < 3:
            request = LeaveGroupRequest(group_id=group, member_id=identities[0].member_id)
        token = self._ask(self.protocol.leave_group, ClientContext(api_version=version), request)
        return self.answer(token, LeaveGroupResponse)

    # --- groups made of them

    def members(self, count: int, *, version: int = 3, static: bool = False, **asked: int) -> list[str]:
        """Let members join a new group and complete the join phase; return their ids, the leader's first."""
        version = 9 if static else version
        tokens = [
            self.join(version=version, instance=f"i{number}" if static else None, **asked)  # type: ignore[arg-type]
            for number in range(count)
        ]
        self.pass_time(2 * self.settings.group_initial_rebalance_delay_ms)
        return [self.joined(token).member_id for token in tokens]

    def stable(self, count: int, *, version: int = 3, static: bool = False, **asked: int) -> list[str]:
        """Do as `members`, then complete the sync phase: each member is assigned its number."""
        ids = self.members(count, version=version, static=static, **asked)
        self.sync(ids[0], 1, {member_id: b"%d" % number for number, member_id in enumerate(ids)})
        for member_id in ids[1:]:
            self.sync(member_id, 1)
        return ids

    # --- answers

    def joined(self, token: int) -> JoinGroupResponse:
        """Return the response to a JoinGroup; it must have arrived."""
        return self.answer(token, JoinGroupResponse)

    def synced(self, token: int) -> SyncGroupResponse:
        """Return the response to a SyncGroup; it must have arrived."""
        return self.answer(token, SyncGroupResponse)

    def answer(self, token: int, cls: type[M]) -> M:
        """Return a response; it must have arrived."""
        found = self.answers[token]
        assert isinstance(found, cls)
        return found

    # --- what happens

    def apply(self, outcome: Outcome) -> None:
        """Apply an outcome as the runtime does."""
        if outcome.records and self.refusal is not None:
            assert outcome.on_refused is not None
            self._reply(outcome.on_refused(self.refusal))
            return
        self._write(outcome)
        self._reply(outcome.replies)
        if outcome.on_written is not None:
            self._reply(outcome.on_written())

    def pass_time(self, ms: int) -> None:
        """Advance the clock; timers fire when they are due."""
        end_ms = self.context.now_ms + ms
        while (due_ms := self.context.timers.next_due_ms) is not None and due_ms <= end_ms:
            self.context.now_ms = max(due_ms, self.context.now_ms)
            action = self.context.timers.pop_due(self.context.now_ms)
            assert action is not None
            self.apply(action())
        self.context.now_ms = end_ms

    def reload(self, **settings: int) -> None:
        """Let another coordinator load the log. Pending requests get no response from it."""
        if settings:
            self.settings = GroupSettings(**settings)  # type: ignore[arg-type]
        self._asked = {token: each for token, each in self._asked.items() if token in self.answers}
        self.context = self._context(self.context.now_ms)
        self.protocol = ClassicProtocol(self.context)
        for key, value in self.log:
            decoded = decode_key(GROUP_COORDINATOR_KEYS, key)
            assert isinstance(decoded, GroupMetadataKey)
            self.protocol.replay(decoded, None if value is None else _decoded_value(value))
        for group in list(self.context.groups.values()):
            assert isinstance(group, ClassicGroup)
            self.apply(self.protocol.loaded(group))

    # --- what is there

    def group(self, group_id: str = GROUP) -> ClassicGroup:
        """Return a group; it must exist."""
        return cast("ClassicGroup", self.context.groups[group_id])

    @property
    def written(self) -> list[GroupMetadataValue | None]:
        """All values in the log."""
        return [None if value is None else _decoded_value(value) for _, value in self.log]

    @property
    def open_tokens(self) -> set[int]:
        """The tokens of pending requests."""
        return self._asked.keys() - self.answers.keys()

    # --- inside

    def _context(self, now_ms: int) -> ShardContext:
        return ShardContext(
            release=latest_release(),
            kind=self.kind,
            topics=cast("Topics", None),
            random=self.random,
            now_ms=now_ms,
            settings=self.settings,
        )

    def _ask(self, method: object, client: ClientContext, request: WireMessage) -> int:
        """Send what remains of a request once it has been encoded in its version."""
        self._last_token += 1
        token = self._last_token
        name = type(request).__name__.removesuffix("Request")
        self._asked[token] = name, client.api_version
        data = codec.encode(request, client.api_version)
        self.requests.append((name, client.api_version, token, data))
        received = codec.decode(type(request), client.api_version, data)
        self.apply(method(client, received, token))  # type: ignore[operator]
        return token

    def _reply(self, replies: object) -> None:
        for reply in cast("list[Reply]", replies):
            assert reply.token not in self.answers, "answered once"
            name, version = self._asked[reply.token]
            cls = getattr(messages, f"{name}Response")
            self.answers[reply.token] = codec.decode(cls, version, codec.encode(reply.response, version))

    def _write(self, outcome: Outcome) -> None:
        for record in outcome.records:
            self.log.append(_encoded(record))
            if outcome.is_replayed:
                assert isinstance(record.key, GroupMetadataKey)
                self.protocol.replay(record.key, cast("GroupMetadataValue | None", record.value))


def _encoded(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    value = None if record.value is None else encode_value(record.value, record.version)
    return encode_key(record.key), value


def _decoded_value(value: bytes) -> GroupMetadataValue:
    decoded, version = decode_value(GROUP_COORDINATOR_VALUES, 2, value)
    assert version == 3
    assert isinstance(decoded, GroupMetadataValue)
    return decoded
