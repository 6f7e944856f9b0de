"""Transactions: a broker of ours against one of real Kafka, one producer (librdkafka), topics of 10 partitions.

Budget: >= 1x, processor time per transaction. A transaction has one record, or 1,000 records over all partitions.
"""

import time
from functools import partial

import confluent_kafka as ck

from support.brokers import Side, both_sides, create_topics, end_offset, print_sides, warm_up
from support.kafka_peer import Peer, measure_against_kafka
from support.load import Measured
from support.process import cpu_seconds

TURNS = 3
TOPIC = "bought"
PARTITIONS = 10
# Records of a transaction, transactions of a turn.
LOADS = ((1, 100), (1_000, 10))
PROPERTIES = {
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 4,
}
VALUE = b"v" * 100
WAIT_S = 60


def measure(kafka: Peer) -> None:
    with both_sides(kafka, PROPERTIES) as sides:
        producers: dict[int, ck.Producer] = {}
        for side in sides:
            create_topics(side.port, [TOPIC], partitions=PARTITIONS)
            producer = ck.Producer({"bootstrap.servers": f"127.0.0.1:{side.port}", "transactional.id": "shop"})
            producer.init_transactions(WAIT_S)
            producers[side.port] = producer
        for records, transactions in LOADS:
            for side in sides:
                side.turns.clear()
                warm_up(partial(run, side, producers[side.port], records, transactions))
            for _ in range(TURNS):
                for side in sides:
                    side.turns.append(run(side, producers[side.port], records, transactions))
            print_sides(f"transactions of {records} records", *sides, budget=1)
        # They end before their brokers do.
        producers.clear()


def run(side: Side, producer: ck.Producer, records: int, transactions: int, _window: int = 0) -> Measured:
    """Commit transactions one after the other. All records and markers must be there."""
    before = [end_offset(side.port, TOPIC, number) for number in range(PARTITIONS)]
    started, cpu = time.monotonic(), cpu_seconds(side.server.pid)
    for _ in range(transactions):
        producer.begin_transaction()
        for number in range(records):
            producer.produce(TOPIC, VALUE, partition=number % PARTITIONS)
        producer.commit_transaction(WAIT_S)
    taken, worked = time.monotonic() - started, cpu_seconds(side.server.pid) - cpu
    written = [end_offset(side.port, TOPIC, number) for number in range(PARTITIONS)]
    expected = transactions * (records + min(records, PARTITIONS))
    assert sum(written) - sum(before) >= expected - PARTITIONS, (before, written)
    return Measured(
        answers=transactions,
        answer_bytes=0.0,
        seconds=taken / transactions,
        cpu_seconds=worked / transactions,
        p50_us=0.0,
        p99_us=0.0,
    )


if __name__ == "__main__":
    measure_against_kafka("transactions", measure)
