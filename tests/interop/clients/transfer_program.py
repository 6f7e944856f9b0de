"""Moves records from one topic to another, exactly once, by a Python library; runs until it is killed.

    transfer_program.py LIBRARY SERVERS SOURCE TARGET NAME

NAME is its group and its transactional id. After any error it ends: whoever runs it starts it again, and the next one
fences this one's transaction. Some transactions are aborted, and their records read again.
"""

import asyncio
import random
import signal
import sys
from typing import Any

TRANSACTION_MS = 10_000
SESSION_MS = 3000
RECORDS_MAX = 20
# Of a hundred transactions.
ABORTS = 4
STALL_S = 30
# kafka-python 3.0.12 drops a transaction's request when the coordinator refuses the connection, and waits for ever.
DROPPED_S = 12


def main(library: str, *arguments: str) -> None:
    """Run one library's transfer."""
    go_on()
    {"librdkafka": librdkafka, "kafka-python": kafka_python, "aiokafka": aiokafka}[library](*arguments)


def is_aborted() -> bool:
    """True for some transactions."""
    return random.randrange(100) < ABORTS


def go_on(stall_s: int = STALL_S) -> None:
    """End the program if this is not called again for a while: some libraries wait for ever when a broker is killed."""
    signal.alarm(stall_s)


def librdkafka(servers: str, source: str, target: str, name: str) -> None:
    """confluent-kafka, in a group."""
    import confluent_kafka as ck

    common = {"bootstrap.servers": servers}
    reading = {"group.id": name, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    reading |= {"session.timeout.ms": SESSION_MS, "isolation.level": "read_committed"}
    consumer = ck.Consumer(common | reading)
    producer = ck.Producer(common | {"transactional.id": name, "transaction.timeout.ms": TRANSACTION_MS})
    producer.init_transactions(60)
    consumer.subscribe([source])
    while True:
        go_on()
        records = [record for record in consumer.consume(RECORDS_MAX, 0.5) if record.error() is None]
        if not records:
            continue
        producer.begin_transaction()
        for record in records:
            producer.produce(target, record.value())
        ends = {record.partition(): record.offset() + 1 for record in records}
        offsets = [ck.TopicPartition(source, partition, end) for partition, end in ends.items()]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 30)
        if is_aborted():
            producer.abort_transaction(30)
            for record in reversed(records):
                consumer.seek(ck.TopicPartition(source, record.partition(), record.offset()))
            continue
        producer.commit_transaction(30)


def kafka_python(servers: str, source: str, target: str, name: str) -> None:
    """kafka-python, with partitions of its own."""
    import kafka

    go_on(DROPPED_S)
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=servers,
        group_id=name,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level="read_committed",
    )
    producer = kafka.KafkaProducer(
        bootstrap_servers=servers, transactional_id=name, transaction_timeout_ms=TRANSACTION_MS
    )
    producer.init_transactions()
    consumer.assign([kafka.TopicPartition(source, number) for number in consumer.partitions_for_topic(source)])
    while True:
        go_on(DROPPED_S)
        found = consumer.poll(500, max_records=RECORDS_MAX)
        if not found:
            continue
        producer.begin_transaction()
        for record in [each for records in found.values() for each in records]:
            producer.send(target, record.value)
        offsets = {
            partition: kafka.OffsetAndMetadata(records[-1].offset + 1, "", -1) for partition, records in found.items()
        }
        producer.send_offsets_to_transaction(offsets, name)
        if is_aborted():
            producer.abort_transaction()
            for partition, records in found.items():
                consumer.seek(partition, records[0].offset)
            continue
        producer.commit_transaction()


def aiokafka(servers: str, source: str, target: str, name: str) -> None:
    """aiokafka, with partitions of its own."""
    asyncio.run(_aiokafka(servers, source, target, name))


async def _aiokafka(servers: str, source: str, target: str, name: str) -> None:
    import aiokafka as library

    reading: dict[str, Any] = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
    consumer = library.AIOKafkaConsumer(
        bootstrap_servers=servers, group_id=name, isolation_level="read_committed", **reading
    )
    producer = library.AIOKafkaProducer(
        bootstrap_servers=servers, transactional_id=name, transaction_timeout_ms=TRANSACTION_MS
    )
    await consumer.start()
    await producer.start()
    await consumer._client._wait_on_metadata(source)
    consumer.assign([library.TopicPartition(source, number) for number in consumer.partitions_for_topic(source)])
    while True:
        go_on()
        found = await consumer.getmany(timeout_ms=500, max_records=RECORDS_MAX)
        if not found:
            continue
        await producer.begin_transaction()
        for record in [each for records in found.values() for each in records]:
            await producer.send(target, record.value)
        offsets = {partition: records[-1].offset + 1 for partition, records in found.items()}
        await producer.send_offsets_to_transaction(offsets, name)
        if is_aborted():
            await producer.abort_transaction()
            for partition, records in found.items():
                consumer.seek(partition, records[0].offset)
            continue
        await producer.commit_transaction()


if __name__ == "__main__":
    main(*sys.argv[1:])
