"""A shard for offset requests: requests as bytes, transactions, a clock that tests move, a log to reload from."""

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from consumer_world import FakeTopics
from legal_compactions import entries_of

from falkirk.coordinator.loader.partition_loader import PartitionLoader
from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.coordinator.records.log_entry import LogEntry, LoggedRecord, TransactionEnd
from falkirk.coordinator.runtime.client import ClientContext
from falkirk.coordinator.runtime.context import ShardContext
from falkirk.coordinator.runtime.load_failure import LoadFailure
from falkirk.coordinator.runtime.outcome import CoordinatorRecord, KeyAndValue, Outcome, Reply
from falkirk.coordinator.runtime.settings import GroupSettings
from falkirk.coordinator.shard.group_coordinator_shard import GroupCoordinatorShard
from falkirk.protocol import codec
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from falkirk.protocol.messages.offset_commit_request import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from falkirk.protocol.messages.offset_delete_request import OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from falkirk.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from falkirk.protocol.messages.offset_fetch_response import OffsetFetchResponseGroup, OffsetFetchResponsePartitions
from falkirk.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from falkirk.protocol.schema import ZERO_UUID
from falkirk.slices import exhaust
from falkirk.versions.release import Release

GROUP = "g"
DAY_MS = 86_400_000


def empty_shard(
    release: str = "4.4",
    kind: CoordinatorKind = CoordinatorKind.NEW,
    *,
    is_tolerant: bool = False,
    now_ms: int = 1_000_000,
    settings: GroupSettings | None = None,
    topics: FakeTopics | None = None,
) -> GroupCoordinatorShard:
    """Make an empty shard of a release."""
    context = ShardContext(
        release=Release.parse(release),
        kind=kind,
        topics=topics or FakeTopics().with_("t", 10),
        random=Random(1),
        now_ms=now_ms,
        settings=settings or GroupSettings(),
        is_tolerant=is_tolerant,
    )
    return GroupCoordinatorShard(context)


def load(shard: GroupCoordinatorShard, entries: Iterable[LogEntry]) -> LoadFailure | None:
    """Load a shard; return its failure, if any."""
    loader = PartitionLoader(shard)
    for entry in entries:
        failure = loader.apply(entry)
        if failure is not None:
            return failure
    return exhaust(loader.finish())


class OffsetsWorld:
    """Applies outcomes as the runtime does; `log` is what was written."""

    def __init__(self, release: str = "4.4", kind: CoordinatorKind = CoordinatorKind.NEW, **settings: int) -> None:
        self.release = release
        self.kind = kind
        self.settings = GroupSettings(**settings)  # type: ignore[arg-type]
        self.log: list[LogEntry] = []
        self.written: list[CoordinatorRecord] = []
        self.shard = empty_shard(release, kind, settings=self.settings)
        self.apply(exhaust(self.shard.loaded()))

    @property
    def context(self) -> ShardContext:
        return self.shard.context

    # --- requests

    def commit(
        self,
        offset: int = 5,
        partition: int = 0,
        *,
        group: str = GROUP,
        topic: str = "t",
        member: str = "",
        epoch: int = -1,
        version: int = 9,
        topic_id: bytes = ZERO_UUID,
        metadata: str | None = "",
        retention_ms: int = -1,
        leader_epoch: int = -1,
    ) -> ErrorCode:
        partition_ = OffsetCommitRequestPartition(
            partition_index=partition,
            committed_offset=offset,
            committed_metadata=metadata,
            committed_leader_epoch=leader_epoch if version >= 6 else -1,
        )
        named = "" if version >= 10 else topic
        topic_ = OffsetCommitRequestTopic(name=named, topic_id=topic_id, partitions=[partition_])
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=epoch,
            member_id=member,
            retention_time_ms=retention_ms,
            topics=[topic_],
        )
        received = codec.decode(OffsetCommitRequest, version, codec.encode(request, version))
        # As the handler does.
        received.topics[0].name = topic
        response = self._ask(self.shard.commit_offsets(_client(version), received, 1))
        assert isinstance(response, OffsetCommitResponse)
        assert response.topics[0].name == topic
        assert codec.encode(response, version)
        return ErrorCode(response.topics[0].partitions[0].error_code)

    def commit_pending(
        self,
        producer: int,
        offset: int = 5,
        partition: int = 0,
        *,
        group: str = GROUP,
        member: str = "",
        epoch: int = -1,
    ) -> ErrorCode:
        partition_ = TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
        request = TxnOffsetCommitRequest(
            transactional_id="x",
            group_id=group,
            producer_id=producer,
            generation_id_or_member_epoch=epoch,
            member_id=member,
            topics=[TxnOffsetCommitRequestTopic(name="t", partitions=[partition_])],
        )
        response = self._ask(self.shard.commit_transactional_offsets(_client(3), request, 1))
        assert isinstance(response, TxnOffsetCommitResponse)
        return ErrorCode(response.topics[0].partitions[0].error_code)

    def end(self, producer: int, *, commit: bool) -> None:
        self.log.append(TransactionEnd(len(self.log), producer, commit))
        self.shard.end_transaction(producer, is_commit=commit)

    def delete(self, *partitions: int, group: str = GROUP, topic: str = "t") -> list[ErrorCode]:
        """Return the response's error, or else those of the partitions."""
        topic_ = OffsetDeleteRequestTopic(
            name=topic, partitions=[OffsetDeleteRequestPartition(each) for each in partitions]
        )
        request = OffsetDeleteRequest(group_id=group, topics=[topic_])
        response = self._ask(self.shard.delete_offsets(_client(0), request, 1))
        assert isinstance(response, OffsetDeleteResponse)
        if response.error_code:
            return [ErrorCode(response.error_code)]
        return [ErrorCode(each.error_code) for topic in response.topics for each in topic.partitions]

    def fetch_group(
        self,
        *partitions: int,
        group: str = GROUP,
        is_stable: bool = False,
        member: str | None = None,
        epoch: int = -1,
        topic_id: bytes = ZERO_UUID,
    ) -> OffsetFetchResponseGroup:
        """Fetch partitions of topic t, by default all."""
        topics = [OffsetFetchRequestTopics(name="t", topic_id=topic_id, partition_indexes=partitions)]
        request = OffsetFetchRequestGroup(
            group_id=group, member_id=member, member_epoch=epoch, topics=topics if partitions else None
        )
        response = self._ask(self.shard.fetch_offsets(_client(9), request, 1, is_stable_required=is_stable))
        assert isinstance(response, OffsetFetchResponseGroup)
        return response

    def fetch(self, partition: int = 0, **asked: Any) -> OffsetFetchResponsePartitions:
        """Fetch one partition."""
        return self.fetch_group(partition, **asked).topics[0].partitions[0]

    def offsets(self, group: str = GROUP) -> dict[tuple[str, int], int]:
        """Return all committed offsets of a group."""
        return {
            (topic.name, each.partition_index): each.committed_offset
            for topic in self.fetch_group(group=group).topics
            for each in topic.partitions
        }

    # --- the world

    def apply(self, outcome: Outcome) -> Sequence[Reply]:
        """Append and replay an outcome's records."""
        producer = outcome.producer
        first = len(self.log)
        entries = entries_of(
            self.release,
            outcome.records,
            first_offset=first,
            producer_id=-1 if producer is None else producer.producer_id,
        )
        self.log += entries
        self.written += outcome.records
        if outcome.is_replayed:
            for record, entry in zip(outcome.records, entries, strict=True):
                assert isinstance(entry, LoggedRecord)
                data = KeyAndValue(entry.key or b"", entry.value)
                self.shard.replay(record, data, offset=entry.offset, producer=producer)
        return outcome.replies

    def finish_slices(self) -> None:
        """Do the rest of what takes many slices."""
        slices = self.context.slices
        while slices:
            self.apply(slices.pop(next(iter(slices)))())

    def pass_time(self, ms: int) -> None:
        """Advance the clock; timers fire when they are due."""
        end = self.context.now_ms + ms
        timers = self.context.timers
        while (due := timers.next_due_ms) is not None and due <= end:
            self.context.now_ms = max(due, self.context.now_ms)
            action = timers.pop_due(self.context.now_ms)
            assert action is not None
            self.apply(action())
            self.finish_slices()
        self.context.now_ms = end

    def reloaded(self, entries: Iterable[LogEntry] | None = None, release: str | None = None) -> "OffsetsWorld":
        """Return a world whose shard was loaded from the log, or from what compaction left of it."""
        other = OffsetsWorld(release or self.release, self.kind)
        other.settings = self.settings
        other.log = list(self.log)
        other.shard = empty_shard(
            other.release, self.kind, now_ms=self.context.now_ms, settings=self.settings, topics=self.topics
        )
        assert load(other.shard, self.log if entries is None else entries) is None
        other.apply(exhaust(other.shard.loaded()))
        return other

    @property
    def topics(self) -> FakeTopics:
        topics = self.context.topics
        assert isinstance(topics, FakeTopics)
        return topics

    def _ask(self, outcome: Outcome) -> object:
        (reply,) = self.apply(outcome)
        return reply.response


def _client(version: int) -> ClientContext:
    return ClientContext(api_version=version)
