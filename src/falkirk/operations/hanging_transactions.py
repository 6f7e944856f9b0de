"""Transactions that are open in a partition, and that no coordinator will end (KIP-664)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.client.refusal import Refusal
from falkirk.client.transactions import NONE, describe_producers, describe_transactions, list_transactions
from falkirk.operations.errors import OperationError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import MetadataRequest, MetadataResponse
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic
from falkirk.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.cluster_description import ClusterNode
    from falkirk.client.transactions import ProducerDescription

# In one request, as Kafka's tool does.
_PARTITIONS_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTransaction:
    """A producer's transaction in one partition."""

    partition: TopicPartition
    producer: ProducerDescription


async def find_hanging(
    admin: AsyncAdmin,
    *,
    topic: str | None,
    partition: int | None,
    broker_id: int | None,
    max_timeout_ms: int,
    now_ms: int,
) -> list[OpenTransaction]:
    """Return the transactions older than `max_timeout_ms` that no coordinator has as its own, by partition.

    Of one topic or partition, of the replicas on one broker, or both; OperationError for an unknown broker or topic.
    """
    broker = None if broker_id is None else await broker_node(admin, broker_id)
    partitions = await _partitions(admin, topic=topic, partition=partition, broker_id=broker_id)
    found: list[OpenTransaction] = []
    for start in range(0, len(partitions), _PARTITIONS_AT_ONCE):
        described = await describe_producers(admin, partitions[start : start + _PARTITIONS_AT_ONCE], broker=broker)
        for key, producers in sorted(described.items()):
            if isinstance(producers, Refusal):
                raise OperationError(f"the producers of {key} are not known: {producers}")
            found += [
                OpenTransaction(partition=key, producer=producer)
                for producer in producers
                if producer.transaction_start_offset != NONE and now_ms - producer.last_timestamp > max_timeout_ms
            ]
    return await _without_owned(admin, found)


async def broker_node(admin: AsyncAdmin, broker_id: int) -> ClusterNode:
    """Return a broker. Raises OperationError if there is none."""
    node = (await admin.describe_cluster()).node(broker_id)
    if node is None:
        raise OperationError(f"the cluster has no broker {broker_id}")
    return node


async def _partitions(
    admin: AsyncAdmin, *, topic: str | None, partition: int | None, broker_id: int | None
) -> list[TopicPartition]:
    topics = None if topic is None else [MetadataRequestTopic(name=topic)]
    response = await admin.request(MetadataRequest(topics=topics, allow_auto_topic_creation=False))
    assert isinstance(response, MetadataResponse)
    found: list[TopicPartition] = []
    for each in response.topics:
        if each.error_code:
            raise OperationError(f"topic {each.name}: {Refusal(each.error_code)}")
        for one in each.partitions:
            is_wanted = partition is None or one.partition_index == partition
            if is_wanted and (broker_id is None or broker_id in one.replica_nodes):
                found.append(TopicPartition(each.name or "", one.partition_index))
    return sorted(found)


async def _without_owned(admin: AsyncAdmin, candidates: Sequence[OpenTransaction]) -> list[OpenTransaction]:
    """Return those that no coordinator has among the partitions of its producer's transaction."""
    if not candidates:
        return []
    producer_ids = {each.producer.producer_id for each in candidates}
    ids = {
        each.producer_id: each.transactional_id for each in await list_transactions(admin, producer_ids=producer_ids)
    }
    described = await describe_transactions(admin, ids.values())
    owned: set[tuple[int, TopicPartition]] = set()
    for producer_id, transactional_id in ids.items():
        description = described[transactional_id]
        if not isinstance(description, Refusal):
            owned |= {(producer_id, partition) for partition in description.partitions}
        elif description.error_code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise OperationError(f"transactional id {transactional_id}: {description}")
    return [each for each in candidates if (each.producer.producer_id, each.partition) not in owned]
