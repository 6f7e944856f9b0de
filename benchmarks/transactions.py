"""Transactions: a broker of ours against one of real Kafka, one producer (librdkafka), topics of 10 partitions.

Budget: >= 1x, processor time per transaction. A transaction has one record, or 1,000 records over all partitions.

And a million records of `__transaction_state` are loaded by the broker that leads them: 100,000 transactional ids with
three transactions each (begun, decided, completed) and the record before them. Budget: half of Kafka's speed in wall
time, as for `__consumer_offsets` (`group_load.py`).
"""

import re
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import confluent_kafka as ck

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.protocol.coordinator_record import encode_key, encode_value
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    TransactionLogKey,
    TransactionLogValue,
)
from falkirk.protocol.messages.transaction_log_value import PartitionsSchema
from support.brokers import Side, both_sides, create_topics, end_offset, print_turns, warm_up
from support.kafka_peer import Peer, measure_against_kafka
from support.load import Measured, ask
from support.partition_load import SEGMENT, PartitionLoads, write_segment
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
# A log to be loaded.
RECORDS = 1_000_000
BATCH_RECORDS = 10
IDS = 100_000
STATES = (TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
PARTITION = "__transaction_state-0"
VALUE_VERSION = 1
TRANSACTION = 1
LOG_PROPERTIES = PROPERTIES | {
    "transaction.state.log.num.partitions": 1,
    "transactional.id.expiration.ms": 2**31 - 1,
    "log.cleaner.enable": "false",
    "log.retention.ms": -1,
}
# What each side says when it has loaded a partition.
KAFKA_LOADED = re.compile(
    rb"Finished loading \d+ transaction metadata from __transaction_state-0 in (\d+) milliseconds"
)
FALKIRK_LOADED = re.compile(rb"transaction-coordinator-loaded[^\n]*\bms[\"=: ]+(\d+)")


def measure(kafka: Peer) -> None:
    measure_load(kafka)
    measure_transactions(kafka)


def measure_load(kafka: Peer) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        now_ms = time.time_ns() // 1_000_000
        write_segment(folder / SEGMENT, transaction_records(now_ms), RECORDS, BATCH_RECORDS, now_ms)
        loads = PartitionLoads(PARTITION, folder / SEGMENT, create=await_coordinator, error=describe_error)
        sides = loads.both_sides(kafka, folder, LOG_PROPERTIES, ours=FALKIRK_LOADED, theirs=KAFKA_LOADED)
    loads.print(f"load of {RECORDS:,} records of __transaction_state", *sides, budget=0.5)


def transaction_records(now_ms: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values: all ids begin, then each has its next transaction in turn."""
    for number in range(IDS):
        yield transaction_record(number, 0, TransactionState.EMPTY, now_ms)
    epoch = 0
    while True:
        epoch += 1
        for number in range(IDS):
            for state in STATES:
                yield transaction_record(number, epoch, state, now_ms)


def transaction_record(number: int, epoch: int, state: TransactionState, now_ms: int) -> tuple[bytes, bytes]:
    has_partitions = state in {TransactionState.ONGOING, TransactionState.PREPARE_COMMIT}
    partitions = [PartitionsSchema(TOPIC, tuple(range(PARTITIONS)))] if has_partitions else []
    value = TransactionLogValue(
        producer_id=number,
        producer_epoch=epoch,
        transaction_timeout_ms=60_000,
        transaction_status=state,
        transaction_partitions=None if state is TransactionState.EMPTY else partitions,
        transaction_last_update_timestamp_ms=now_ms,
        transaction_start_timestamp_ms=-1 if state is TransactionState.EMPTY else now_ms,
        client_transaction_version=2,
    )
    return encode_key(TransactionLogKey(transactional_id(number))), encode_value(value, VALUE_VERSION)


def transactional_id(number: int) -> str:
    return f"application-{number:06}"


def await_coordinator(port: int) -> None:
    """Create `__transaction_state`, and wait until an id has its coordinator."""
    deadline = time.monotonic() + WAIT_S
    request = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=[transactional_id(0)])
    while ask(port, request, 4, FindCoordinatorResponse).coordinators[0].error_code != ErrorCode.NONE:
        assert time.monotonic() < deadline, "no coordinator"
        time.sleep(0.1)


def describe_error(port: int) -> int:
    """Return the error of an id that was among the last."""
    request = DescribeTransactionsRequest([transactional_id(IDS - 1)])
    return ask(port, request, 0, DescribeTransactionsResponse).transaction_states[0].error_code


def measure_transactions(kafka: Peer) -> None:
    with both_sides(kafka, PROPERTIES) as sides:
        producers: dict[int, ck.Producer] = {}
        for side in sides:
            create_topics(side.port, [TOPIC], partitions=PARTITIONS)
            producer = ck.Producer({"bootstrap.servers": f"127.0.0.1:{side.port}", "transactional.id": "shop"})
            producer.init_transactions(WAIT_S)
            producers[side.port] = producer
        for records, transactions in LOADS:
            for side in sides:
                warm_up(partial(run, side, producers[side.port], records, transactions))
            turns = [[run(side, producers[side.port], records, transactions) for side in sides] for _ in range(TURNS)]
            print_turns(f"transactions of {records} records", turns, budget=1)
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
