"""Transactions as coordinators know them, and the producers that partitions know (KIP-664).

Sources: ListTransactions (key 66), DescribeTransactions (65), DescribeProducers (61), WriteTxnMarkers (27).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.client.errors import NodeRefusedError
from falkirk.client.groups.coordinators import MOVED, TRANSACTION, Coordinators
from falkirk.client.partitions import describe_topics, leader_of
from falkirk.client.refusal import Refusal
from falkirk.client.retries import API_TIMEOUT_MS, Retries
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from falkirk.protocol.messages.describe_producers_request import TopicRequest
from falkirk.protocol.messages.write_txn_markers_request import WritableTxnMarker, WritableTxnMarkerTopic
from falkirk.protocol.topic_partition import TopicPartition, by_topic
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.cluster_description import ClusterNode
    from falkirk.client.connection import NodeConnection
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.messages.describe_transactions_response import TransactionState

NONE: Final = -1
"""No transaction is open, or no marker was written."""
# Durations can be asked for since version 1, patterns since version 2.
_WITH_DURATION: Final = 1
_WITH_PATTERN: Final = 2
_MARKER_VERSIONS: Final = SupportedRange(0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionListing:
    """A transactional id, as the coordinator of `coordinator_id` lists it."""

    transactional_id: str
    coordinator_id: int
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionDescription:
    """The last transaction of an id. `start_time_ms` is -1 if none is open."""

    transactional_id: str
    coordinator_id: int
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    start_time_ms: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerDescription:
    """A producer in one partition. `transaction_start_offset` and `coordinator_epoch` may be NONE."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    transaction_start_offset: int


async def list_transactions(
    admin: AsyncAdmin,
    *,
    producer_ids: Iterable[int] = (),
    longer_than_ms: int = -1,
    pattern: str | None = None,
    timeout_ms: int = API_TIMEOUT_MS,
) -> list[TransactionListing]:
    """Return what all brokers list, by coordinator and id.

    `longer_than_ms`, `pattern`: only transactions that run longer, or whose ids match. Raises ClientError;
    UnsupportedApiError for a filter that a broker is too old for.
    """
    retries = Retries(admin.config, timeout_ms)
    lowest = _WITH_PATTERN if pattern is not None else _WITH_DURATION if longer_than_ms >= 0 else 0
    wanted = SupportedRange(lowest, max(ListTransactionsRequest.SCHEMA.info.versions))

    async def ask(node: ClusterNode) -> list[TransactionListing]:
        request = ListTransactionsRequest(
            producer_id_filters=tuple(sorted(producer_ids)),
            duration_filter=max(longer_than_ms, -1),
            transactional_id_pattern=pattern,
        )
        response = await _list_once(admin.connection(node.endpoint), request, wanted, retries)
        return [
            TransactionListing(
                transactional_id=each.transactional_id,
                coordinator_id=node.node_id,
                producer_id=each.producer_id,
                state=each.transaction_state,
            )
            for each in response.transaction_states
        ]

    nodes = sorted((await admin.describe_cluster()).nodes, key=lambda node: node.node_id)
    listed = await asyncio.gather(*map(ask, nodes))
    return [each for one in listed for each in sorted(one, key=lambda listing: listing.transactional_id)]


async def describe_transactions(
    admin: AsyncAdmin, transactional_ids: Iterable[str], *, timeout_ms: int = API_TIMEOUT_MS
) -> dict[str, TransactionDescription | Refusal]:
    """Describe the transactions of ids. Raises ClientError for a coordinator that cannot be reached."""

    async def ask(node: ClusterNode, ids: Sequence[str], left_ms: int) -> dict[str, TransactionDescription | Refusal]:
        request = DescribeTransactionsRequest(transactional_ids=tuple(ids))
        response = await admin.connection(node.endpoint).request(request, is_idempotent=True, timeout_ms=left_ms)
        assert isinstance(response, DescribeTransactionsResponse)
        return {
            each.transactional_id: Refusal(each.error_code) if each.error_code else _description(node.node_id, each)
            for each in response.transaction_states
        }

    return await Coordinators(admin, key_type=TRANSACTION).ask(transactional_ids, ask, timeout_ms=timeout_ms)


async def describe_producers(
    admin: AsyncAdmin,
    partitions: Iterable[TopicPartition],
    *,
    broker: ClusterNode | None = None,
    timeout_ms: int = API_TIMEOUT_MS,
) -> dict[TopicPartition, tuple[ProducerDescription, ...] | Refusal]:
    """Describe the producers that the partitions' leaders know, or the replicas on one broker."""
    wanted = list(dict.fromkeys(partitions))
    found: dict[TopicPartition, tuple[ProducerDescription, ...] | Refusal] = {}
    by_broker: dict[Endpoint, list[TopicPartition]] = {}
    topics = {} if broker else await describe_topics(admin, {each.topic for each in wanted}, timeout_ms=timeout_ms)
    for each in wanted:
        node = broker or leader_of(topics, each)
        if isinstance(node, Refusal):
            found[each] = node
        else:
            by_broker.setdefault(node.endpoint, []).append(each)
    for answer in await asyncio.gather(*(_producers(admin, *one, timeout_ms) for one in by_broker.items())):
        found |= answer
    return found


async def abort_transaction(
    admin: AsyncAdmin,
    partition: TopicPartition,
    *,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    timeout_ms: int = API_TIMEOUT_MS,
) -> Refusal | None:
    """Write a marker that aborts a transaction in one partition, past its coordinator; return why it was refused."""
    leader = leader_of(await describe_topics(admin, [partition.topic], timeout_ms=timeout_ms), partition)
    if isinstance(leader, Refusal):
        return leader
    topics = [WritableTxnMarkerTopic(partition.topic, (partition.partition,))]
    marker = WritableTxnMarker(producer_id, producer_epoch, False, topics, coordinator_epoch)
    response = await admin.connection(leader.endpoint).request(
        WriteTxnMarkersRequest([marker]), wanted=_MARKER_VERSIONS, timeout_ms=timeout_ms
    )
    assert isinstance(response, WriteTxnMarkersResponse)
    errors = [each.error_code for one in response.markers for topic in one.topics for each in topic.partitions]
    error = errors[0] if errors else ErrorCode.UNKNOWN_SERVER_ERROR
    return Refusal(error) if error else None


async def _list_once(
    node: NodeConnection, request: ListTransactionsRequest, wanted: SupportedRange, retries: Retries
) -> ListTransactionsResponse:
    while True:
        left_ms = retries.request_timeout_ms
        response = await node.request(request, wanted=wanted, is_idempotent=True, timeout_ms=left_ms)
        assert isinstance(response, ListTransactionsResponse)
        if response.error_code == ErrorCode.NONE:
            return response
        if response.error_code not in MOVED or retries.is_last:
            raise NodeRefusedError(node.endpoint, "ListTransactions", response.error_code)
        await retries.pause()


def _description(coordinator_id: int, state: TransactionState) -> TransactionDescription:
    return TransactionDescription(
        transactional_id=state.transactional_id,
        coordinator_id=coordinator_id,
        producer_id=state.producer_id,
        producer_epoch=state.producer_epoch,
        state=state.transaction_state,
        timeout_ms=state.transaction_timeout_ms,
        start_time_ms=state.transaction_start_time_ms,
        partitions=tuple(
            sorted(TopicPartition(topic.topic, index) for topic in state.topics for index in topic.partitions)
        ),
    )


async def _producers(
    admin: AsyncAdmin, endpoint: Endpoint, partitions: Sequence[TopicPartition], timeout_ms: int
) -> dict[TopicPartition, tuple[ProducerDescription, ...] | Refusal]:
    topics = [TopicRequest(topic, tuple(indexes)) for topic, indexes in by_topic(partitions).items()]
    response = await admin.connection(endpoint).request(
        DescribeProducersRequest(topics=topics), is_idempotent=True, timeout_ms=timeout_ms
    )
    assert isinstance(response, DescribeProducersResponse)
    return {
        TopicPartition(topic.name, each.partition_index): Refusal(each.error_code, each.error_message)
        if each.error_code
        else tuple(
            ProducerDescription(
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                last_sequence=producer.last_sequence,
                last_timestamp=producer.last_timestamp,
                coordinator_epoch=producer.coordinator_epoch,
                transaction_start_offset=producer.current_txn_start_offset,
            )
            for producer in each.active_producers
        )
        for topic in response.topics
        for each in topic.partitions
    }
