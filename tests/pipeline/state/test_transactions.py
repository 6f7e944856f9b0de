"""Transactional ids at the end of a partition, against the row path."""

import struct
from random import Random

import pytest
from coordinator_logs import TRANSACTIONS_TOPIC, all_real_partitions, variants_of_records
from fleet_clusters import CLUSTER_NAMES, fleet_cluster

from falkirk.columnar.records import records
from falkirk.columnar.report import ReadReport
from falkirk.coordinator.prediction.transactions import transaction_survey
from falkirk.coordinator.records.log_entry import LoggedRecord
from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.pipeline.state.groups.group_state import coordinator_replicas
from falkirk.pipeline.state.transactions import LastTransactions, transaction_state
from falkirk.pipeline.tables.groups import TRANSACTIONS
from falkirk.protocol import codec
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.messages import TransactionLogKey
from falkirk.protocol.messages.transaction_log_value import PartitionsSchema, TransactionLogValue
from falkirk.protocol.record import Record

UNFINISHED = {"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"}


def table_of(entries, *, chunk=1000):
    state = LastTransactions(4)
    data = [entry for entry in entries if isinstance(entry, LoggedRecord)]
    for at in range(0, len(data), chunk):
        part = [Record(entry.offset, 0, entry.key, entry.value) for entry in data[at : at + chunk]]
        for rows in records(build_batch(part, base_offset=part[0].offset), report=ReadReport()):
            state.add(rows)
    table = state.table()
    assert table.schema.equals(TRANSACTIONS.schema, check_metadata=True)
    return table


def unfinished(table):
    columns = ["transactional_id", "status", "offset", "producer_id", "producer_epoch"]
    return [tuple(row.values()) for row in table.select(columns).to_pylist() if row["status"] in UNFINISHED]


def wanted(entries):
    return [
        (
            each.transactional_id,
            each.state.name.title().replace("_", ""),
            each.offset,
            each.producer_id,
            each.producer_epoch,
        )
        for each in transaction_survey(entries).unfinished()
    ]


def record(offset, name, *, version=1, **fields):
    key = b"\0\0" + codec.encode(TransactionLogKey(name), 0)
    value = struct.pack(">h", version) + codec.encode(TransactionLogValue(**fields), version)
    return LoggedRecord(offset, key, value)


def test_unfinished_transactions_are_those_of_the_row_path():
    real = all_real_partitions(TRANSACTIONS_TOPIC)
    entries = variants_of_records(5, 400, TRANSACTIONS_TOPIC)
    shuffled = Random(3).sample(entries, len(entries))
    renumbered = [LoggedRecord(offset, entry.key, entry.value) for offset, entry in enumerate(shuffled)]
    assert wanted(renumbered)
    for log in [*real, entries, renumbered]:
        for chunk in (1000, 17):
            assert unfinished(table_of(log, chunk=chunk)) == wanted(log)


@pytest.mark.slow
@pytest.mark.parametrize("name", CLUSTER_NAMES)
def test_the_transactions_of_real_clusters_are_all_there(kafka_directory, name):
    found = []
    for partition, (directory, node_id) in coordinator_replicas(
        fleet_cluster(kafka_directory(name)), TRANSACTIONS_TOPIC
    ).items():
        table, problems = transaction_state(directory, partition, node_id)
        assert problems == []
        found += table.to_pylist()
    runs = name in {"3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0"}
    assert {row["transactional_id"]: row["status"] for row in found} == (
        dict.fromkeys(("tx-0-1", "tx-1-1", "tx-2-1"), "CompleteCommit") if runs else {}
    )
    flexible = (1, 2) if name >= "4" else (0, None)
    assert {(row["value_version"], row["client_transaction_version"]) for row in found} <= {flexible}


def test_a_transaction_is_told_with_all_that_stands_in_its_record():
    fields = {
        "producer_id": 5, "producer_epoch": 6, "previous_producer_id": 4, "next_producer_id": 8,
        "transaction_timeout_ms": 9, "transaction_status": 1, "transaction_start_timestamp_ms": 10,
        "transaction_last_update_timestamp_ms": 11, "client_transaction_version": 2,
        "transaction_partitions": [PartitionsSchema("t", (1, 0))],
    }  # fmt: skip
    [row] = table_of([record(3, "x", **fields)]).to_pylist()
    times = {name: row.pop(name).timestamp() for name in ("start_timestamp", "last_update_timestamp")}
    assert times == {"start_timestamp": 0.010, "last_update_timestamp": 0.011}
    assert row == {
        "transactional_id": "x", "producer_id": 5, "producer_epoch": 6, "previous_producer_id": 4,
        "next_producer_id": 8, "status": "Ongoing", "timeout_ms": 9,
        "topic_partitions": [{"topic": "t", "partitions": [1, 0]}],
        "client_transaction_version": 2, "value_version": 1, "partition": 4, "offset": 3,
    }  # fmt: skip


def test_a_record_that_is_not_flexible_does_not_say_what_its_client_speaks():
    none_open = {"transaction_start_timestamp_ms": -1, "transaction_partitions": None}
    [row] = table_of([record(0, "x", version=0, **none_open)]).to_pylist()
    assert (row["value_version"], row["client_transaction_version"], row["previous_producer_id"]) == (0, None, -1)
    assert (row["start_timestamp"], row["topic_partitions"]) == (None, None)


def test_a_time_that_no_calendar_has_is_none():
    [row] = table_of([record(0, "x", transaction_last_update_timestamp_ms=2**62)]).to_pylist()
    assert row["last_update_timestamp"] is None


@pytest.mark.parametrize("chunk", [1, 2, 9])
def test_a_record_that_cannot_be_read_leaves_the_one_before_it(chunk):
    first = record(0, "x", transaction_status=1)
    broken = LoggedRecord(1, first.key, b"\0\1\xff")
    [row] = table_of([first, broken], chunk=chunk).to_pylist()
    assert (row["offset"], row["status"]) == (0, "Ongoing")


@pytest.mark.parametrize("chunk", [1, 9])
def test_a_tombstone_takes_an_id_away(chunk):
    first = record(0, "x")
    assert len(table_of([first, LoggedRecord(1, first.key, None)], chunk=chunk)) == 0
    assert len(table_of([first, LoggedRecord(1, first.key, None), record(2, "x")], chunk=chunk)) == 1


def test_states_are_called_as_kafka_calls_them():
    entries = [record(number, str(number), transaction_status=number) for number in range(9)]
    assert [row["status"] for row in table_of(entries).to_pylist()] == [
        "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead",
        "PrepareEpochFence", "unknown (8)",
    ]  # fmt: skip
    assert len(TransactionState) == 8


def test_control_records_are_no_transactions():
    batch = build_batch(
        [Record(0, 0, b"\0\0\0\1", bytes(6))], base_offset=0, producer_id=1, producer_epoch=0, is_control=True
    )
    state = LastTransactions(0)
    for rows in records(batch, report=ReadReport()):
        state.add(rows)
    assert len(state.table()) == 0
