"""A shard with groups of both protocols and their offsets, and consumers of the classic protocol.

For consumers of the new protocol see `consumer_world.Consumer`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar, cast

from consumer_world import ConsumerWorld, Partitions
from msgspec.structs import replace

from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.loader.partition_loader import PartitionLoader
from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.coordinator.records.log_entry import LogEntry
from falkirk.coordinator.runtime.client import ClientContext
from falkirk.coordinator.runtime.context import ShardContext
from falkirk.coordinator.runtime.outcome import CoordinatorRecord, KeyAndValue, Outcome, Reply
from falkirk.coordinator.shard.group_coordinator_shard import GroupCoordinatorShard
from falkirk.protocol import codec, messages
from falkirk.protocol.consumer_protocol import decode_embedded, encode_embedded
from falkirk.protocol.coordinator_record import encode_key, encode_value
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupRequest,
    SyncGroupResponse,
    consumer_protocol_assignment,
    consumer_protocol_subscription,
)
from falkirk.protocol.messages.join_group_request import JoinGroupRequestProtocol
from falkirk.protocol.messages.join_group_response import JoinGroupResponseMember
from falkirk.protocol.messages.leave_group_request import MemberIdentity
from falkirk.protocol.messages.offset_commit_request import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from falkirk.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup
from falkirk.protocol.messages.sync_group_request import SyncGroupRequestAssignment
from falkirk.protocol.schema import WireMessage
from falkirk.slices import exhaust

if TYPE_CHECKING:
    from falkirk.coordinator.consumer.consumer_protocol import ConsumerProtocol
    from falkirk.protocol.messages.offset_fetch_response import OffsetFetchResponseGroup

GROUP = "g"
SESSION_MS = 10_000
REBALANCE_MS = 60_000
_HEARTBEAT_TOKEN = 7
_FIRST_TOKEN = 100
M = TypeVar("M", bound=WireMessage)


def _written(record: CoordinatorRecord) -> KeyAndValue:
    """Return the compared fields of an offset commit; other values are returned as they are."""
    key, value = record.key, record.value
    if not isinstance(key, messages.OffsetCommitKey):
        return KeyAndValue(b"", None)
    return KeyAndValue(encode_key(key), None if value is None else encode_value(value, record.version))


class MixedWorld(ConsumerWorld):
    """Responses are in `answers`, by token. `crash`: when to crash at the next write, before its responses are sent.

    "before" the batch is in the log, or "after"; then another coordinator takes over, and pending requests get
    NOT_COORDINATOR. `refusal`: the error with which the log refuses every append.
    """

    def __init__(
        self, *, is_tolerant: bool = False, **given: Any
    ) -> None:  # Any: what ConsumerWorld and GroupSettings have
        self.is_tolerant = is_tolerant
        self.answers: dict[int, WireMessage] = {}
        self.waiting: dict[int, tuple[type[WireMessage], int]] = {}
        self.crash: str | None = None
        self.refusal: ErrorCode | None = None
        self._tokens = _FIRST_TOKEN
        self._asking = 0
        self._random = Random(1)
        self._has_crashed = False
        super().__init__(**given)

    @property
    def classic_group(self) -> ClassicGroup:
        """The group named GROUP, which is classic."""
        group = self.context.groups[GROUP]
        assert isinstance(group, ClassicGroup)
        return group

    # --- requests

    def ask(self, method: str, request: WireMessage, version: int, *, client_id: str = "c") -> int:
        """Send a request to the shard's method, as bytes; return its token."""
        self._tokens += 1
        token = self._tokens
        cls = getattr(messages, type(request).__name__.replace("Request", "Response"))
        self.waiting[token] = cls, version
        received = codec.decode(type(request), version, codec.encode(request, version))
        client = ClientContext(api_version=version, client_id=client_id, client_host="/10.0.0.2")
        self._asking = token
        self.apply(getattr(self.shard, method)(client, received, token))
        self._asking = 0
        return token

    def answer(self, token: int, cls: type[M]) -> M:
        """Return a response; it must have arrived."""
        found = self.answers[token]
        assert isinstance(found, cls)
        return found

    def beat(self, member_id: str, epoch: int, **asked: Any) -> ConsumerGroupHeartbeatResponse:  # Any: what it has
        """Send a ConsumerGroupHeartbeat."""
        self._has_crashed = False
        response = super().beat(member_id, epoch, **asked)
        if self._has_crashed or self.refusal is not None:
            error = ErrorCode.NOT_COORDINATOR if self._has_crashed else self.refusal or ErrorCode.NONE
            return ConsumerGroupHeartbeatResponse(error_code=error)
        return response

    def heartbeat(self, member_id: str, generation: int, *, instance: str | None = None) -> ErrorCode:
        """Send a Heartbeat."""
        request = HeartbeatRequest(
            group_id=GROUP, generation_id=generation, member_id=member_id, group_instance_id=instance
        )
        return ErrorCode(self.answer(self.ask("heartbeat", request, 4), HeartbeatResponse).error_code)

    def leave(self, *members: tuple[str, str | None], version: int = 5) -> LeaveGroupResponse:
        """Send a LeaveGroup of members, with their instance ids."""
        request = LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(*each) for each in members])
        if version < 3:
            request = LeaveGroupRequest(group_id=GROUP, member_id=members[0][0])
        return self.answer(self.ask("leave_group", request, version), LeaveGroupResponse)

    def commit(self, member_id: str, epoch: int, topic: str, partition: int, offset: int) -> ErrorCode:
        """Commit an offset."""
        partitions = [OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)]
        request = OffsetCommitRequest(
            group_id=GROUP,
            member_id=member_id,
            generation_id_or_member_epoch=epoch,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=partitions)],
        )
        response = self.answer(self.ask("commit_offsets", request, 9), OffsetCommitResponse)
        return ErrorCode(response.topics[0].partitions[0].error_code)

    def committed(self) -> dict[tuple[str, int], int]:
        """Return all committed offsets of the group."""
        group = OffsetFetchRequestGroup(group_id=GROUP, topics=None)
        client = ClientContext(api_version=9)
        outcome = self.shard.fetch_offsets(client, group, _HEARTBEAT_TOKEN, is_stable_required=False)
        response = cast("OffsetFetchResponseGroup", outcome.replies[0].response)
        assert response.error_code == ErrorCode.NONE
        return {
            (topic.name, each.partition_index): each.committed_offset
            for topic in response.topics
            for each in topic.partitions
        }

    # --- what happens

    def apply(self, outcome: Outcome) -> list[Reply]:
        """Apply an outcome as the runtime does."""
        if outcome.records:
            if self.refusal is not None:
                return self._refuse(outcome)
            if self.crash is not None:
                return self._die(outcome)
            first = sum(map(len, self.batches))
            self.batches.append(list(outcome.records))
            if outcome.is_replayed:
                for offset, record in enumerate(outcome.records, first):
                    self.shard.replay(record, _written(record), offset=offset, producer=None)
        self._reply(outcome.replies)
        if outcome.on_written is not None:
            self._reply(outcome.on_written())
        return []

    def change_topic(self, name: str, partitions: int, racks: Sequence[tuple[str, ...]] | None = None) -> None:
        """Create, change or (0 partitions) delete a topic."""
        self.topics = self.topics.with_(name, partitions, racks)
        self.apply(self.shard.topics_changed(self.topics, [name]))

    def reload(self, entries: list[LogEntry] | None = None) -> None:
        """Let another coordinator load the log, or what compaction left of it."""
        self._answer_all(list(self.waiting), ErrorCode.NOT_COORDINATOR)
        self._load(self.context.now_ms, self.entries() if entries is None else entries)
        self.apply(exhaust(self.shard.loaded()))

    def _refuse(self, outcome: Outcome) -> list[Reply]:
        assert self.refusal is not None
        if outcome.on_refused is not None:
            self._reply(outcome.on_refused(self.refusal))
        elif self._asking in self.waiting:
            self._answer_all([self._asking], self.refusal)
        return []

    def _answer_all(self, tokens: Iterable[int], error: ErrorCode) -> None:
        self._reply([Reply(token, _refused(self.waiting[token][0], error)) for token in tokens])

    def _die(self, outcome: Outcome) -> list[Reply]:
        crash, self.crash = self.crash, None
        if crash == "after":
            self.batches.append(list(outcome.records))
        self._has_crashed = True
        self.reload()
        return []

    def _reply(self, replies: Iterable[Reply]) -> None:
        for reply in replies:
            if reply.token == _HEARTBEAT_TOKEN:
                continue
            cls, version = self.waiting.pop(reply.token)
            self.answers[reply.token] = codec.decode(cls, version, codec.encode(reply.response, version))

    def _load(self, now_ms: int, entries: list[LogEntry]) -> None:
        self.context = ShardContext(
            release=self.release,
            kind=CoordinatorKind.NEW,
            topics=self.topics,
            random=self._random,
            now_ms=now_ms,
            settings=self.settings,
            feature_levels=self.levels,
            group_configs=self.group_configs,
            is_tolerant=self.is_tolerant,
        )
        self.shard = GroupCoordinatorShard(self.context)
        self.protocol = cast("ConsumerProtocol", _Heartbeats(self))
        loader = PartitionLoader(self.shard)
        for entry in entries:
            failure = loader.apply(entry)
            assert failure is None, failure
        assert exhaust(loader.finish()) is None


class _Heartbeats:
    """ConsumerWorld's requests, which need no response but their own."""

    def __init__(self, world: MixedWorld) -> None:
        self._world = world

    def heartbeat(
        self,
        client: ClientContext,
        request: ConsumerGroupHeartbeatRequest,
        token: int,
        *,
        is_describable: Callable[[str], bool],
    ) -> Outcome:
        world = self._world
        outcome = world.shard.consumer_group_heartbeat(client, request, token, is_describable=is_describable)
        own = [reply for reply in outcome.replies if reply.token == token]
        others = [reply for reply in outcome.replies if reply.token != token]
        on_written = outcome.on_written

        def written() -> Sequence[Reply]:
            return [*others, *(on_written() if on_written is not None else ())]

        return replace(outcome, replies=own, on_written=written)


def group_state(world: MixedWorld) -> dict[str, object]:
    """Return all group state in the log, and the offsets, in a comparable form."""
    return {"offsets": world.committed(), "groups": {id_: _state(group) for id_, group in world.context.groups.items()}}


class ClassicConsumer:
    """A consumer of the classic protocol. `owned`: its partitions by topic id, until it revokes them.

    `assignor` "cooperative-sticky" revokes only what it must and then rejoins, so that others get it;
    "range" revokes everything before it joins. `step` receives a response that has arrived.
    """

    def __init__(
        self,
        world: MixedWorld,
        *topics: str,
        assignor: str = "cooperative-sticky",
        instance: str | None = None,
        version: int = 9,
        subscription_version: int = 3,
    ) -> None:
        self.world = world
        self.topics = topics
        self.assignor = assignor
        self.instance = instance
        self.version = version
        self.subscription_version = subscription_version
        self.member_id = ""
        self.generation = -1
        self.owned: Partitions = {}
        self.has_to_join = True
        self.is_leader = False
        self.is_dead = False
        self.errors: list[ErrorCode] = []
        self._token: int | None = None
        self._members: list[JoinGroupResponseMember] = []

    def step(self) -> None:
        """Receive the response that has arrived, or send the next request: JoinGroup, SyncGroup or Heartbeat."""
        if self.is_dead:
            return
        if self._token is not None:
            self._take()
        elif self.has_to_join:
            self._join()
        else:
            self._told(self.world.heartbeat(self.member_id, self.generation, instance=self.instance))

    def settle(self) -> None:
        """Step until it waits, is dead, or has nothing to do."""
        for _ in range(20):
            self.step()
            if self._token is not None and self._token not in self.world.answers:
                return
            if self._token is None and not self.has_to_join:
                return

    def leave(self) -> None:
        """Leave the group and revoke everything."""
        self.owned, self.is_dead = {}, True
        self.world.leave((self.member_id, self.instance))

    def names(self) -> dict[str, set[int]]:
        """Return its partitions by topic name."""
        topics = self.world.topics
        return {topics.name_of(topic_id) or "": set(parts) for topic_id, parts in self.owned.items() if parts}

    def _join(self) -> None:
        if self.assignor == "range":
            self.owned = {}
        subscription = ConsumerProtocolSubscription(
            topics=self.topics,
            owned_partitions=[
                consumer_protocol_subscription.TopicPartition(topic=topic, partitions=tuple(sorted(parts)))
                for topic, parts in sorted(self.names().items())
            ],
            generation_id=self.generation,
        )
        metadata = encode_embedded(subscription, self.subscription_version)
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=self.assignor, metadata=metadata)],
        )
        self._token = self.world.ask("join_group", request, self.version)
        self._take()

    def _take(self) -> None:
        assert self._token is not None
        answer = self.world.answers.get(self._token)
        if answer is None:
            return
        self._token = None
        if isinstance(answer, JoinGroupResponse):
            self._joined(answer)
        else:
            assert isinstance(answer, SyncGroupResponse)
            self._synced(answer)

    def _joined(self, answer: JoinGroupResponse) -> None:
        error = ErrorCode(answer.error_code)
        if error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            return
        if error is not ErrorCode.NONE:
            self._told(error)
            return
        self.member_id, self.generation = answer.member_id, answer.generation_id
        assignments = {}
        self.is_leader = answer.leader == answer.member_id
        if self.is_leader and not answer.skip_assignment:
            assignments = _assigned(answer.members, self.world, is_eager=self.assignor == "range")
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocol_name=self.assignor,
            assignments=[SyncGroupRequestAssignment(member_id=id_, assignment=a) for id_, a in assignments.items()],
        )
        self._token = self.world.ask("sync_group", request, 5)
        self._take()

    def _synced(self, answer: SyncGroupResponse) -> None:
        if answer.error_code != ErrorCode.NONE:
            self._told(ErrorCode(answer.error_code))
            return
        assignment = ConsumerProtocolAssignment()
        if answer.assignment:
            assignment = decode_embedded(ConsumerProtocolAssignment, answer.assignment)
        found: dict[bytes, frozenset[int]] = {}
        for topic in assignment.assigned_partitions:
            topic_id = self.world.topics.id_of(topic.topic)
            if topic_id is not None:
                found[topic_id] = frozenset(topic.partitions)
        has_given_up = any(parts - found.get(topic_id, frozenset()) for topic_id, parts in self.owned.items())
        self.owned = found
        self.has_to_join = has_given_up

    def _told(self, error: ErrorCode) -> None:
        if error is ErrorCode.NONE:
            return
        self.errors.append(error)
        if error in {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION}:
            self.owned, self.generation = {}, -1
            self.member_id = "" if error is ErrorCode.UNKNOWN_MEMBER_ID else self.member_id
        if error in {
            ErrorCode.FENCED_INSTANCE_ID,
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            ErrorCode.GROUP_ID_NOT_FOUND,
            ErrorCode.GROUP_MAX_SIZE_REACHED,
        }:
            self.owned, self.is_dead = {}, True
        self.has_to_join = True


def stable_group(world: MixedWorld, *topics: str, count: int = 2, **given: Any) -> list[ClassicConsumer]:
    """Return the consumers of a stable classic group; `given`: fields of ClassicConsumer."""
    consumers = [ClassicConsumer(world, *(topics or ("foo",)), **given) for _ in range(count)]
    for _ in range(4):
        for consumer in consumers:
            consumer.settle()
        world.pass_time(3_000)
    assert world.classic_group.state_name == "Stable"
    return consumers


def _refused(cls: type[WireMessage], error: ErrorCode) -> WireMessage:
    if cls is OffsetCommitResponse:
        topic = messages.offset_commit_response.OffsetCommitResponseTopic(
            partitions=[messages.offset_commit_response.OffsetCommitResponsePartition(error_code=error)]
        )
        return OffsetCommitResponse(topics=[topic])
    return cls(error_code=error)  # type: ignore[call-arg]  # all others have one


def _assigned(members: Sequence[JoinGroupResponseMember], world: MixedWorld, *, is_eager: bool) -> Mapping[str, bytes]:
    """Assign as a leader does, topic by topic; a cooperative leader skips what another member still owns."""
    subscriptions = {each.member_id: decode_embedded(ConsumerProtocolSubscription, each.metadata) for each in members}
    claims = {
        (topic.topic, partition): member_id
        for member_id, subscription in subscriptions.items()
        for topic in subscription.owned_partitions
        for partition in topic.partitions
    }
    shares: dict[str, dict[str, list[int]]] = {member_id: {} for member_id in subscriptions}
    for topic in sorted({topic for each in subscriptions.values() for topic in each.topics}):
        readers = sorted(member_id for member_id, each in subscriptions.items() if topic in each.topics)
        for partition in range(world.topics.partitions_of(topic)):
            reader = readers[partition % len(readers)]
            if is_eager or claims.get((topic, partition), reader) == reader:
                shares[reader].setdefault(topic, []).append(partition)
    return {
        member_id: encode_embedded(
            ConsumerProtocolAssignment(
                assigned_partitions=[
                    consumer_protocol_assignment.TopicPartition(topic=topic, partitions=tuple(parts))
                    for topic, parts in topics.items()
                ]
            ),
            0,
        )
        for member_id, topics in shares.items()
    }


def _state(group: object) -> dict[str, object]:
    if isinstance(group, ConsumerGroup):
        return {
            "type": "consumer",
            "epochs": (group.group_epoch, group.target_epoch, group.target_timestamp_ms, group.metadata_hash),
            "members": group.members,
            "target": group.target,
            "owners": group.owners,
            "static": group.static_members,
            "topics": (group.subscription_metadata, group.resolved_regexes),
        }
    assert isinstance(group, ClassicGroup)
    return {
        "type": "classic",
        "generation": (group.generation_id, group.protocol_type, group.protocol_name, group.leader_id),
        "state": group.state,
        "members": {
            member_id: (member.group_instance_id, member.protocols, member.assignment, member.session_timeout_ms)
            for member_id, member in group.members.items()
        },
    }
