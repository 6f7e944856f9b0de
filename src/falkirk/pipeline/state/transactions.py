"""The transactional ids that a partition of `__transaction_state` tells of at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from falkirk.columnar.records import records
from falkirk.coordinator.prediction.kafka_reader import KafkaReader, ReadError
from falkirk.coordinator.prediction.readability import RecordReader, UnknownTypeError
from falkirk.coordinator.prediction.transactions import TransactionState
from falkirk.pipeline.readers.row_columns import NO_TIME, TIME_END, TIME_MIN
from falkirk.pipeline.state.coordinator_segments import read_partition
from falkirk.pipeline.tables.groups import TRANSACTIONS
from falkirk.versions.release import latest_release

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from falkirk.columnar.report import ReadReport
    from falkirk.coordinator.prediction.kafka_reader import Fields
    from falkirk.pipeline.filesystem import Location
    from falkirk.pipeline.readers.chunks import Chunk
    from falkirk.pipeline.readers.origin import Origin

    Row = dict[str, Any]  # Any: values of columns


def transaction_state(directory: Location, partition: int, node_id: int | None = None) -> tuple[pa.Table, list[Row]]:
    """Read the directory of a partition; give the table `transactions`, and rows of `problems`.

    Memory is that of a chunk and of the last record of each id. Raises OSError.
    """
    problems: list[Row] = []
    state = LastTransactions(partition)
    for rows in read_partition(directory, node_id, _records, problems):
        state.add(rows)
    return state.table(), problems


def _records(chunks: Iterable[Chunk], _: Origin, report: ReadReport) -> Iterator[pa.RecordBatch]:
    for chunk in chunks:
        yield from records(chunk.data, report=report, file_position=chunk.position)


class LastTransactions:
    """Takes the records of a partition in log order (`columnar.schemas.RECORDS`), then tells its transactional ids.

    A record that the newest release cannot read tells nothing: the one before it counts. Of each key only the last
    record of a chunk is looked at, and those before it if that cannot be read.
    """

    def __init__(self, partition: int) -> None:
        self._partition = partition
        # Id -> offset of its last record, and its row; None: a tombstone of this chunk.
        self._rows: dict[str, tuple[int, Row | None]] = {}

    def add(self, records: pa.RecordBatch) -> None:
        """Take the next records."""
        keys = records["key"].cast(pa.binary()).dictionary_encode()
        codes = keys.indices.fill_null(_NO_KEY).to_numpy(zero_copy_only=False)
        codes = np.where(records["is_control"].to_numpy(zero_copy_only=False), _NO_KEY, codes)
        # By key, of each key the last record first.
        order = np.argsort(codes[::-1], kind="stable")
        rows = (len(codes) - 1 - order).tolist()
        done: int | None = None
        for row in rows:
            code = int(codes[row])
            if code not in (done, _NO_KEY) and self._take(records, row):
                done = code
        self._rows = {name: row for name, row in self._rows.items() if row[1] is not None}

    def table(self) -> pa.Table:
        """Give the table `transactions`, by id."""
        rows = [row for _, (_, row) in sorted(self._rows.items()) if row is not None]
        return pa.Table.from_batches([TRANSACTIONS.rows(rows)])

    def _take(self, records: pa.RecordBatch, row: int) -> bool:
        """Let a record count, if it can be read."""
        value = records["value"][row].as_py()
        try:
            record = _READER.decode(records["key"][row].as_py(), value)
        except (ReadError, UnknownTypeError):
            return False
        transactional_id, offset = record.key["transactional_id"], int(records["offset"][row].as_py())
        before = self._rows.get(transactional_id)
        # Bytes behind a key are ignored, so that keys which differ may name one id.
        if before is None or before[0] < offset:
            self._rows[transactional_id] = offset, None
            if record.value is not None:
                version = KafkaReader(value).int16()
                head = {"partition": self._partition, "offset": offset, "value_version": version}
                self._rows[transactional_id] = offset, head | _row(transactional_id, record.value, version)
        return True


_READER: Final = RecordReader(latest_release(), latest_release().kraft.transaction_records)
_NO_KEY: Final = -1
_NO_PRODUCER: Final = -1


def _row(transactional_id: str, value: Fields, version: int) -> Row:
    topics = value["transaction_partitions"]
    return {
        "transactional_id": transactional_id,
        "producer_id": value["producer_id"],
        "producer_epoch": value["producer_epoch"],
        "previous_producer_id": value.get("previous_producer_id", _NO_PRODUCER),
        "next_producer_id": value.get("next_producer_id", _NO_PRODUCER),
        "status": _status(value["transaction_status"]),
        "timeout_ms": value["transaction_timeout_ms"],
        "start_timestamp": _time(value["transaction_start_timestamp_ms"]),
        "last_update_timestamp": _time(value["transaction_last_update_timestamp_ms"]),
        "topic_partitions": None
        if topics is None
        else [{"topic": topic["topic"], "partitions": topic["partition_ids"]} for topic in topics],
        # Records that are not flexible do not tell.
        "client_transaction_version": value.get("client_transaction_version", 0) if version else None,
    }


def _status(number: int) -> str:
    """Give Kafka's word for a state: `PrepareCommit`."""
    try:
        return "".join(word.capitalize() for word in TransactionState(number).name.split("_"))
    except ValueError:
        return f"unknown ({number})"


def _time(milliseconds: int) -> int | None:
    return milliseconds if milliseconds != NO_TIME and TIME_MIN <= milliseconds < TIME_END else None
