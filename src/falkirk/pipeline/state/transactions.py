"""The transactional ids of a partition of `__transaction_state` at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from falkirk.columnar.records import records
from falkirk.coordinator.prediction.readability import RecordReader, UnknownTypeError
from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.pipeline.readers.coordinator_segments import read_partition
from falkirk.pipeline.readers.row_columns import NO_TIME, TIME_END, TIME_MIN
from falkirk.pipeline.tables.groups import TRANSACTIONS
from falkirk.protocol.lax_reader import KafkaReader, ReadError
from falkirk.versions.release import latest_release

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from falkirk.columnar.report import ReadReport
    from falkirk.pipeline.filesystem import Location
    from falkirk.pipeline.readers.chunks import Chunk
    from falkirk.pipeline.readers.origin import Origin
    from falkirk.protocol.lax_reader import Fields

    Row = dict[str, Any]  # Any: values of columns

_READER: Final = RecordReader(latest_release(), latest_release().kraft.transaction_records)
_NO_KEY: Final = -1
_NO_PRODUCER: Final = -1


def transaction_state(directory: Location, partition: int, node_id: int | None = None) -> tuple[pa.Table, list[Row]]:
    """Read the directory of a partition; return the table `transactions`, and rows of `problems`.

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
    """Collects the records of a partition in log order (`columnar.schemas.RECORDS`), and returns its transactional ids.

    A record that the newest release cannot read is skipped: the one before it counts. Of each key only the last record
    of a chunk is read, and earlier ones if that does not parse.
    """

    def __init__(self, partition: int) -> None:
        self._partition = partition
        # Id -> offset of its last record, and its row (None: a tombstone in this chunk).
        self._rows: dict[str, tuple[int, Row | None]] = {}

    def add(self, records: pa.RecordBatch) -> None:
        """Add the next records."""
        keys = records["key"].cast(pa.binary()).dictionary_encode()
        codes = keys.indices.fill_null(_NO_KEY).to_numpy(zero_copy_only=False)
        codes = np.where(records["is_control"].to_numpy(zero_copy_only=False), _NO_KEY, codes)
        # By key, last record first.
        order = np.argsort(codes[::-1], kind="stable")
        rows = (len(codes) - 1 - order).tolist()
        done: int | None = None
        for row in rows:
            code = int(codes[row])
            if code not in (done, _NO_KEY) and self._apply(records, row):
                done = code
        self._rows = {name: row for name, row in self._rows.items() if row[1] is not None}

    def table(self) -> pa.Table:
        """Return the table `transactions`, sorted by id."""
        rows = [row for _, (_, row) in sorted(self._rows.items()) if row is not None]
        return pa.Table.from_batches([TRANSACTIONS.rows(rows)])

    def _apply(self, records: pa.RecordBatch, row: int) -> bool:
        """Apply a record; returns False if it cannot be read."""
        value = records["value"][row].as_py()
        try:
            record = _READER.decode(records["key"][row].as_py(), value)
        except (ReadError, UnknownTypeError):
            return False
        transactional_id, offset = record.key["transactional_id"], int(records["offset"][row].as_py())
        before = self._rows.get(transactional_id)
        # Bytes behind a key are ignored, so different keys may name the same id.
        if before is None or before[0] < offset:
            self._rows[transactional_id] = offset, None
            if record.value is not None:
                version = KafkaReader(value).int16()
                head = {"partition": self._partition, "offset": offset, "value_version": version}
                self._rows[transactional_id] = offset, head | _row(transactional_id, record.value, version)
        return True


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
        # Only flexible versions have it.
        "client_transaction_version": value.get("client_transaction_version", 0) if version else None,
    }


def _status(number: int) -> str:
    """Return Kafka's name of a state: `PrepareCommit`."""
    try:
        return "".join(word.capitalize() for word in TransactionState(number).name.split("_"))
    except ValueError:
        return f"unknown ({number})"


def _time(milliseconds: int) -> int | None:
    return milliseconds if milliseconds != NO_TIME and TIME_MIN <= milliseconds < TIME_END else None
