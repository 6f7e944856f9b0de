"""A shard with consumer groups only: heartbeats, a clock that tests move, topics that change, a log to reload from."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any
from unittest.mock import patch

from falkirk.coordinator.consumer import consumer_protocol
from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.consumer.consumer_protocol import ConsumerProtocol
from falkirk.coordinator.consumer.conversions import Upgrade
from falkirk.coordinator.consumer.member import ConsumerGroupMember
from falkirk.coordinator.consumer.refusal import Refusal
from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.coordinator.records.log_entry import LogEntry, LoggedRecord
from falkirk.coordinator.runtime.client import ClientContext
from falkirk.coordinator.runtime.context import ShardContext
from falkirk.coordinator.runtime.group import Group
from falkirk.coordinator.runtime.outcome import CoordinatorRecord, Outcome, Reply
from falkirk.coordinator.runtime.settings import GroupSettings
from falkirk.protocol import codec
from falkirk.protocol.coordinator_record import decode_key, decode_value, encode_key, encode_value, record_type
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    GROUP_COORDINATOR_KEYS,
    GROUP_COORDINATOR_VALUES,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    GroupMetadataKey,
)
from falkirk.protocol.messages.consumer_group_heartbeat_request import TopicPartitions
from falkirk.versions.message_layouts import layout_in
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release, latest_release

GROUP = "g"
SESSION_MS = 45_000
REBALANCE_MS = 60_000
Partitions = dict[bytes, frozenset[int]]


@dataclass(frozen=True, slots=True)
class FakeTopic:
    """A topic; `racks` of each partition."""

    topic_id: bytes
    racks: tuple[tuple[str, ...], ...]


class FakeTopics:
    """A topics image (`coordinator.runtime.topics.Topics`); `with_` returns the next one."""

    def __init__(self, topics: dict[str, FakeTopic] | None = None, offset: int = 1) -> None:
        self.offset = offset
        self.by_name = topics or {}
        self._names = {topic.topic_id: name for name, topic in self.by_name.items()}

    def with_(self, name: str, partitions: int, racks: Sequence[tuple[str, ...]] | None = None) -> "FakeTopics":
        """Create a topic or change its partitions; 0 deletes it. A recreated topic has a new id."""
        topics = dict(self.by_name)
        before = topics.pop(name, None)
        if partitions:
            made_at = (self.offset + 1).to_bytes(16, "big")
            topics[name] = FakeTopic(before.topic_id if before else made_at, tuple(racks or ((),) * partitions))
        return FakeTopics(topics, self.offset + 1)

    def names(self) -> Iterable[str]:
        return self.by_name

    def id_of(self, name: str) -> bytes | None:
        topic = self.by_name.get(name)
        return None if topic is None else topic.topic_id

    def name_of(self, topic_id: bytes) -> str | None:
        return self._names.get(topic_id)

    def partitions_of(self, name: str) -> int:
        return len(self.racks_of(name))

    def racks_of(self, name: str) -> Sequence[tuple[str, ...]]:
        topic = self.by_name.get(name)
        return () if topic is None else topic.racks


class NoConversions:
    """Never converts a group."""

    def upgrade(self, group: Group) -> Upgrade | Refusal:
        return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"cannot upgrade {group.group_id}")

    def downgrade(
        self,
        group: ConsumerGroup,  # noqa: ARG002
        leaving: Collection[ConsumerGroupMember],  # noqa: ARG002
    ) -> Outcome | None:
        return None


class ConsumerWorld:
    """Applies outcomes as the runtime does; `batches` is the log, one list of records per append.

    `looks_twice`: a heartbeat that changes nothing on the fast path must change nothing on the full path.
    """

    looks_twice = False

    def __init__(
        self, *, release: Release | None = None, levels: dict[str, int] | None = None, **settings: Any
    ) -> None:  # Any: whatever GroupSettings has
        self.release = release or latest_release()
        self.levels = levels or {"metadata.version": int(MetadataVersion.parse("4.3-IV0").level), "group.version": 1}
        self.settings = GroupSettings(**settings)
        self.batches: list[list[CoordinatorRecord]] = []
        self.conversions = NoConversions()
        self.refusal: ErrorCode | None = None
        self.topics = FakeTopics().with_("foo", 4).with_("bar", 2)
        self.group_configs: dict[str, dict[str, str]] = {}
        self._load(1_000_000, [])

    @property
    def group(self) -> ConsumerGroup:
        """The group named GROUP."""
        group = self.context.groups[GROUP]
        assert isinstance(group, ConsumerGroup)
        return group

    def id(self, topic: str) -> bytes:
        """Return a topic's id."""
        topic_id = self.topics.id_of(topic)
        assert topic_id is not None
        return topic_id

    def parts(self, **topics: Iterable[int]) -> Partitions:
        """Return partitions by topic id, from partitions by topic name."""
        return {self.id(name): frozenset(partitions) for name, partitions in topics.items()}

    # --- requests

    def beat(
        self,
        member_id: str,
        epoch: int,
        *,
        group: str = GROUP,
        instance: str | None = None,
        rack: str | None = None,
        timeout_ms: int = -1,
        topics: Iterable[str] | None = None,
        regex: str | None = None,
        assignor: str | None = None,
        owned: Partitions | None = None,
        version: int = 1,
        hidden: Collection[str] = (),
    ) -> ConsumerGroupHeartbeatResponse:
        """Send a heartbeat as bytes; `hidden`: topics that the client may not describe."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=member_id,
            member_epoch=epoch,
            instance_id=instance,
            rack_id=rack,
            rebalance_timeout_ms=timeout_ms,
            subscribed_topic_names=None if topics is None else tuple(topics),
            subscribed_topic_regex=regex,
            server_assignor=assignor,
            topic_partitions=None
            if owned is None
            else [TopicPartitions(topic_id=id_, partitions=tuple(sorted(each))) for id_, each in owned.items()],
        )
        request = codec.decode(ConsumerGroupHeartbeatRequest, version, codec.encode(request, version))
        client = ClientContext(api_version=version, client_id=f"client-{member_id}", client_host="/10.0.0.1")
        outcome = self.protocol.heartbeat(client, request, 7, is_describable=lambda name: name not in hidden)
        if self.looks_twice and not outcome.records:
            with patch.object(consumer_protocol, "is_steady", lambda *_: False):
                closely = self.protocol.heartbeat(client, request, 7, is_describable=lambda name: name not in hidden)
            assert (list(closely.records), list(closely.replies)) == ([], list(outcome.replies))
        self.apply(outcome)
        assert [reply.token for reply in outcome.replies] == [7]
        response = outcome.replies[0].response
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        return codec.decode(ConsumerGroupHeartbeatResponse, version, codec.encode(response, version))

    def join(
        self, member_id: str, *topics: str, timeout_ms: int = REBALANCE_MS, **asked: Any
    ) -> ConsumerGroupHeartbeatResponse:  # Any: whatever `beat` has
        """Send a member's first heartbeat."""
        subscription = topics if topics or "regex" not in asked else None
        return self.beat(member_id, 0, timeout_ms=timeout_ms, **{"owned": {}, "topics": subscription, **asked})

    def apply(self, outcome: Outcome) -> list[Reply]:
        """Append and replay an outcome's records, unless the log refuses them (`refusal`)."""
        if outcome.records and self.refusal is not None:
            return list(outcome.on_refused(self.refusal)) if outcome.on_refused is not None else []
        if outcome.records:
            self.batches.append(list(outcome.records))
        for record in outcome.records:
            if isinstance(record.key, GroupMetadataKey):
                assert record.value is None
                del self.context.groups[record.key.group]
            else:
                self.protocol.replay(record.key, record.value)
        return [*outcome.replies, *(outcome.on_written() if outcome.on_written is not None else ())]

    # --- the world

    def pass_time(self, ms: int) -> None:
        """Advance the clock; timers fire when they are due."""
        end = self.context.now_ms + ms
        while (due := self.context.timers.next_due_ms) is not None and due <= end:
            self.context.now_ms = max(due, self.context.now_ms)
            action = self.context.timers.pop_due(self.context.now_ms)
            assert action is not None
            self.apply(action())
        self.context.now_ms = end

    def change_topic(self, name: str, partitions: int, racks: Sequence[tuple[str, ...]] | None = None) -> None:
        """Create, change or (0 partitions) delete a topic."""
        self.topics = self.context.topics = self.topics.with_(name, partitions, racks)
        self.protocol.topics_changed([name])

    def reload(self, entries: list[LogEntry] | None = None) -> None:
        """Let another coordinator load the log, or what compaction left of it."""
        self._load(self.context.now_ms, self.entries() if entries is None else entries)
        for group in self.context.groups.values():
            assert isinstance(group, ConsumerGroup)
            self.protocol.loaded(group)

    def entries(self) -> list[LogEntry]:
        """Return the log as the release writes it."""
        return [
            LoggedRecord(offset, encode_key(record.key), self._encoded(record), -1, False)
            for offset, record in enumerate(record for batch in self.batches for record in batch)
        ]

    def batch_starts(self) -> list[int]:
        """Return the offset of the first record of each batch."""
        return [sum(map(len, self.batches[:at])) for at in range(len(self.batches))]

    def last_records(self) -> list[CoordinatorRecord]:
        """Return the records of the last append."""
        return self.batches[-1]

    def _encoded(self, record: CoordinatorRecord) -> bytes | None:
        if record.value is None:
            return None
        layout = layout_in(self.release, record.value.SCHEMA.info.name)
        return encode_value(record.value, record.version, layout=layout)

    def _load(self, now_ms: int, entries: list[LogEntry]) -> None:
        self.context = ShardContext(
            release=self.release,
            kind=CoordinatorKind.NEW,
            topics=self.topics,
            random=Random(1),
            now_ms=now_ms,
            settings=self.settings,
            feature_levels=self.levels,
            group_configs=self.group_configs,
        )
        self.protocol = ConsumerProtocol(self.context, self.conversions)
        for entry in entries:
            assert isinstance(entry, LoggedRecord)
            assert entry.key is not None
            type_ = record_type(entry.key)
            value = None
            if entry.value is not None:
                layout = layout_in(self.release, GROUP_COORDINATOR_VALUES[type_])
                value, _ = decode_value(GROUP_COORDINATOR_VALUES, type_, entry.value, layout=layout)
            self.protocol.replay(decode_key(GROUP_COORDINATOR_KEYS, entry.key), value)


def state_of(world: ConsumerWorld) -> dict[str, object]:
    """Return all group state in the log and what is derived from it, in a comparable form."""
    return {
        group_id: {
            name: getattr(group, name)
            for name in (
                "group_epoch",
                "metadata_hash",
                "target_epoch",
                "target_timestamp_ms",
                "members",
                "target",
                "subscription_metadata",
                "resolved_regexes",
                "static_members",
                "topic_subscribers",
                "regex_subscribers",
                "server_assignors",
                "classic_protocols",
                "classic_member_count",
                "owners",
                "state_name",
            )
        }
        | {"flags": {id_: (each.has_metadata, each.has_assignment) for id_, each in group.members.items()}}
        for group_id, group in world.context.groups.items()
        if isinstance(group, ConsumerGroup)
    }


class Consumer:
    """A member that behaves as clients do. `told`: its last assignment, until it has reported what it revoked."""

    def __init__(
        self,
        world: ConsumerWorld,
        member_id: str,
        *topics: str,
        instance: str | None = None,
        **asked: Any,  # Any: whatever `beat` has, sent with each full request
    ) -> None:
        self.world = world
        self.member_id = member_id
        self.topics: tuple[str, ...] | None = topics if topics or "regex" not in asked else None
        self.instance = instance
        self.asked = asked
        self.epoch = 0
        self.told: Partitions = {}
        self.assigned: Partitions = {}
        self.is_full_next = True

    def beat(self, *, gives_back: bool = True, is_lost: bool = False) -> ErrorCode:
        """Send a heartbeat: with all fields when joining or after a lost response, else with the changed ones.

        Without `gives_back` it keeps the partitions that it was told to revoke. With `is_lost` the response is lost.
        """
        has_given_back = False
        if gives_back and self.told != self.assigned:
            self.told = dict(self.assigned)
            has_given_back = True
        is_full = self.is_full_next or self.epoch == 0
        response = self.world.beat(
            self.member_id,
            self.epoch,
            instance=self.instance,
            owned=self.told if is_full or has_given_back else None,
            timeout_ms=REBALANCE_MS if is_full else -1,
            topics=self.topics if is_full else None,
            **(self.asked if is_full else {}),
        )
        self.is_full_next = is_lost
        if not is_lost:
            self._take(response)
        return ErrorCode(response.error_code)

    def leave(self, *, keeps_place: bool = False) -> ErrorCode:
        """Leave the group; a static member may leave temporarily."""
        response = self.world.beat(self.member_id, -2 if keeps_place else -1, instance=self.instance)
        self.epoch, self.told, self.assigned = 0, {}, {}
        return ErrorCode(response.error_code)

    def abandon(self) -> None:
        """Drop all partitions and rejoin."""
        self.epoch, self.told, self.assigned = 0, {}, {}

    def _take(self, response: ConsumerGroupHeartbeatResponse) -> None:
        if response.error_code in {ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID}:
            self.abandon()
        if response.error_code != ErrorCode.NONE:
            return
        assert response.member_epoch >= self.epoch, "a member's epoch never falls"
        self.epoch = response.member_epoch
        if response.assignment is not None:
            self.assigned = {
                topic.topic_id: frozenset(topic.partitions) for topic in response.assignment.topic_partitions
            }
            for topic_id, partitions in self.assigned.items():
                self.told = {**self.told, topic_id: self.told.get(topic_id, frozenset()) | partitions}
