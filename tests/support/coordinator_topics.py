"""Coordinator topics on brokers of ours, with records as a real broker writes them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from falkirk.protocol import codec
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.connection import Connection, Role
from falkirk.protocol.messages import CreateTopicsRequest, ProduceRequest
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.messages.transaction_log_value import PartitionsSchema, TransactionLogValue
from falkirk.protocol.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from node_network import NodeNetwork

    from falkirk.coordinator.records.log_entry import LoggedRecord


def transaction(transactional_id: str, status: int, *, start_timestamp_ms: int = 9) -> tuple[bytes, bytes]:
    """Return key and value of a record of `__transaction_state`; its timeout is 60 s."""
    key = b"\0\0" + struct.pack(">h", len(transactional_id)) + transactional_id.encode()
    value = TransactionLogValue(
        producer_id=5,
        producer_epoch=2,
        transaction_status=status,
        transaction_partitions=[PartitionsSchema(topic="t", partition_ids=(0,))],
        transaction_start_timestamp_ms=start_timestamp_ms,
        transaction_timeout_ms=60_000,
    )
    return key, struct.pack(">h", 1) + codec.encode(value, 1)


def create(network: NodeNetwork, broker_id: int, listener: str, topic: str, *, partitions: int = 1) -> None:
    """Create a topic, and wait until a broker leads all of it."""
    client = network.client(broker_id, listener)
    answer = client.ask(CreateTopicsRequest([CreatableTopic(topic, partitions, 1)], 5000), 2)
    assert [each.error_code for each in answer.topics] == [0]
    node = network.hosts[broker_id].running
    assert node.broker is not None
    replicas = node.broker.replicas
    network.run_until(lambda: node.image.topics.topic(topic) is not None and replicas.pending_offset is None)


def write(
    network: NodeNetwork,
    broker_id: int,
    listener: str,
    topic: str,
    records: Iterable[LoggedRecord | tuple[bytes, bytes]],
    *,
    partition: int = 0,
) -> None:
    """Write records to an internal topic, as only Kafka's own tools may."""
    client = network.client(broker_id, listener)
    client.connection = Connection(role=Role.CLIENT, client_id="__admin_client")
    pairs = [each if isinstance(each, tuple) else (each.key, each.value) for each in records]
    batch = build_batch([Record(offset, 0, key, value) for offset, (key, value) in enumerate(pairs)], base_offset=0)
    data = [TopicProduceData(topic, partition_data=[PartitionProduceData(partition, batch)])]
    answer = client.ask(ProduceRequest(acks=-1, timeout_ms=5000, topic_data=data), 8)
    assert [each.error_code for response in answer.responses for each in response.partition_responses] == [0]
