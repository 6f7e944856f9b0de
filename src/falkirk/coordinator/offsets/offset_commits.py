"""OffsetCommit and TxnOffsetCommit: validation, and the records of the offsets.

Source: KIP-211 (retention), KIP-447 (members in transactions), KIP-848 (epochs), KIP-1251 (past epochs).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.offsets.offset_records import NO_EXPIRY, offset_commit_record, offset_value_version
from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.coordinator.runtime.outcome import Outcome, Producer, Reply
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import OffsetCommitResponse, OffsetCommitValue, TxnOffsetCommitResponse
from falkirk.protocol.messages.offset_commit_response import OffsetCommitResponsePartition, OffsetCommitResponseTopic
from falkirk.protocol.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from falkirk.protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from falkirk.coordinator.runtime.client import ClientContext
    from falkirk.coordinator.runtime.context import ShardContext
    from falkirk.coordinator.runtime.group import Group
    from falkirk.coordinator.runtime.outcome import CoordinatorRecord, Token
    from falkirk.protocol.messages import OffsetCommitRequest, TxnOffsetCommitRequest
    from falkirk.protocol.messages.offset_commit_request import OffsetCommitRequestPartition, OffsetCommitRequestTopic
    from falkirk.protocol.messages.txn_offset_commit_request import (
        TxnOffsetCommitRequestPartition,
        TxnOffsetCommitRequestTopic,
    )
    from falkirk.protocol.schema import WireMessage

    RequestTopic: TypeAlias = OffsetCommitRequestTopic | TxnOffsetCommitRequestTopic
    RequestPartition: TypeAlias = OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition
    CommitPartition: TypeAlias = Callable[[RequestTopic, RequestPartition], ErrorCode]


_REPORTS_MISSING_GROUPS: Final = 9
_BROKERS_RETENTION: Final = -1
_NO_TIMESTAMP: Final = -1
_INT64_MAX: Final = (1 << 63) - 1
_PAST_EPOCHS: Final = (ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.ILLEGAL_GENERATION)


class OffsetCommits:
    """Decides only; a group that does not exist yet is created by the replay of its first offset."""

    def __init__(self, context: ShardContext) -> None:
        self._context = context
        self._version = offset_value_version(context.release)

    def commit_error(self, client: ClientContext, request: OffsetCommitRequest) -> ErrorCode:
        """Return the error of a whole OffsetCommit.

        A member of a missing group: GROUP_ID_NOT_FOUND from v9 on, ILLEGAL_GENERATION below. Otherwise the group's:
        UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, STALE_MEMBER_EPOCH, REBALANCE_IN_PROGRESS ...
        """
        epoch = request.generation_id_or_member_epoch
        group = self._context.groups.get(request.group_id)
        if group is None:
            if epoch < 0:
                return ErrorCode.NONE
            is_reported = client.api_version >= _REPORTS_MISSING_GROUPS and self._context.kind is CoordinatorKind.NEW
            return ErrorCode.GROUP_ID_NOT_FOUND if is_reported else ErrorCode.ILLEGAL_GENERATION
        error = group.commit_error(
            request.member_id, request.group_instance_id, epoch, is_transactional=False, version=client.api_version
        )
        return self._error_at_past_epoch(error, group, request.member_id, epoch, request.topics)

    def commit(self, request: OffsetCommitRequest, token: Token) -> Outcome:
        """Commit a request that passed `commit_error`; single partitions may fail with OFFSET_METADATA_TOO_LARGE.

        Differs from Kafka: an expiry time of more than 64 bits is the last one there is; there it wraps around.
        """
        expire_ms = NO_EXPIRY
        if request.retention_time_ms != _BROKERS_RETENTION:
            expire_ms = min(self._context.now_ms + request.retention_time_ms, _INT64_MAX)
        records: list[CoordinatorRecord] = []

        def commit_partition(topic: RequestTopic, partition: RequestPartition) -> ErrorCode:
            return self._add_record(records, request.group_id, topic, partition, expire_ms)

        response = _response(_OFFSET_COMMIT, request.topics, commit_partition)
        self._context.counters.offset_commits += len(records)
        return Outcome(records=records, replies=(Reply(token, response),))

    def transaction_commit_error(self, client: ClientContext, request: TxnOffsetCommitRequest) -> ErrorCode:
        """Return the error of a whole TxnOffsetCommit: as `commit_error`, but ILLEGAL_GENERATION for epochs."""
        epoch = request.generation_id_or_member_epoch
        group = self._context.groups.get(request.group_id)
        if group is None:
            return ErrorCode.NONE if epoch < 0 else ErrorCode.ILLEGAL_GENERATION
        error = group.commit_error(
            request.member_id, request.group_instance_id, epoch, is_transactional=True, version=client.api_version
        )
        error = self._error_at_past_epoch(error, group, request.member_id, epoch, request.topics)
        return ErrorCode.ILLEGAL_GENERATION if error is ErrorCode.STALE_MEMBER_EPOCH else error

    def commit_pending(self, request: TxnOffsetCommitRequest, token: Token) -> Outcome:
        """Add offsets that are committed when the transaction is."""
        records: list[CoordinatorRecord] = []

        def commit_partition(topic: RequestTopic, partition: RequestPartition) -> ErrorCode:
            return self._add_record(records, request.group_id, topic, partition, NO_EXPIRY)

        reply = Reply(token, _response(_TXN_OFFSET_COMMIT, request.topics, commit_partition))
        self._context.counters.offset_commits += len(records)
        producer = Producer(request.producer_id, request.producer_epoch) if records else None
        return Outcome(records=records, replies=(reply,), producer=producer)

    def _error_at_past_epoch(
        self, error: ErrorCode, group: Group, member_id: str, epoch: int, topics: Sequence[RequestTopic]
    ) -> ErrorCode:
        """Let a consumer group member commit at a past epoch for partitions that it owned then and still owns."""
        if error not in _PAST_EPOCHS or not isinstance(group, ConsumerGroup):
            return error
        if not self._context.release.accepts_commits_of_past_epochs:
            return error
        for topic in topics:
            topic_id = topic.topic_id if topic.topic_id != ZERO_UUID else self._context.topics.id_of(topic.name)
            for partition in topic.partitions:
                if self._is_too_large(partition):
                    continue
                refused = group.partition_commit_error(
                    member_id, epoch, topic_id or ZERO_UUID, partition.partition_index
                )
                if refused is not ErrorCode.NONE:
                    return refused
        return ErrorCode.NONE

    def _add_record(
        self,
        records: list[CoordinatorRecord],
        group_id: str,
        topic: RequestTopic,
        partition: RequestPartition,
        expire_ms: int,
    ) -> ErrorCode:
        if self._is_too_large(partition):
            return ErrorCode.OFFSET_METADATA_TOO_LARGE
        # Of OffsetCommit v1 alone.
        commit_ms: int = getattr(partition, "commit_timestamp", _NO_TIMESTAMP)
        value = OffsetCommitValue(
            offset=partition.committed_offset,
            leader_epoch=partition.committed_leader_epoch,
            metadata=partition.committed_metadata or "",
            commit_timestamp=self._context.now_ms if commit_ms == _NO_TIMESTAMP else commit_ms,
            expire_timestamp=expire_ms,
            topic_id=topic.topic_id,
        )
        records.append(offset_commit_record(group_id, topic.name, partition.partition_index, value, self._version))
        return ErrorCode.NONE

    def _is_too_large(self, partition: RequestPartition) -> bool:
        metadata = partition.committed_metadata
        size_max = self._context.settings.offset_metadata_max_size
        # Kafka counts in UTF-16: no more than two for each of ours.
        if metadata is None or 2 * len(metadata) <= size_max:
            return False
        return len(metadata.encode("utf-16-le")) > 2 * size_max


def commit_refusal(request: OffsetCommitRequest, token: Token, error: ErrorCode) -> Outcome:
    """Answer every partition of an OffsetCommit with one error."""
    return Outcome(replies=(Reply(token, _response(_OFFSET_COMMIT, request.topics, lambda *_: error)),))


def transaction_refusal(request: TxnOffsetCommitRequest, token: Token, error: ErrorCode) -> Outcome:
    """Answer every partition of a TxnOffsetCommit with one error."""
    return Outcome(replies=(Reply(token, _response(_TXN_OFFSET_COMMIT, request.topics, lambda *_: error)),))


@dataclass(frozen=True, slots=True)
class _Form:
    # Any: the two responses have the same fields, but nothing in common that says so.
    response: Any
    topic: Any
    partition: Any


_OFFSET_COMMIT: Final = _Form(OffsetCommitResponse, OffsetCommitResponseTopic, OffsetCommitResponsePartition)
_TXN_OFFSET_COMMIT: Final = _Form(
    TxnOffsetCommitResponse, TxnOffsetCommitResponseTopic, TxnOffsetCommitResponsePartition
)


def _response(form: _Form, topics: Sequence[RequestTopic], commit_partition: CommitPartition) -> WireMessage:
    """Call `commit_partition` for each partition; return the response with its errors."""
    response: WireMessage = form.response(
        topics=[
            form.topic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    form.partition(
                        partition_index=partition.partition_index, error_code=commit_partition(topic, partition)
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in topics
        ]
    )
    return response
