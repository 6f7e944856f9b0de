"""Records of any partition with the fields of their frames; keys, values and headers as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from falkirk.columnar.arrow_arrays import constant_array
from falkirk.columnar.records import records
from falkirk.pipeline.readers.row_columns import origin_columns, timestamps
from falkirk.pipeline.tables.table import BATCH_COLUMNS, NODE_ID, POSITION, SOURCE, Table, column
from falkirk.protocol.record_batch import TRANSACTIONAL_BIT
from falkirk.storage.partition_directory import parse_partition_directory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from falkirk.columnar.report import ReadReport
    from falkirk.pipeline.readers.chunks import Chunk
    from falkirk.pipeline.readers.origin import Origin

    Arrays = dict[str, pa.Array[Any]]  # Any: of the column's own type

HEADERS_TYPE: Final = pa.list_(pa.struct([pa.field("key", pa.binary()), pa.field("value", pa.binary())]))

DATA_RECORDS: Final = Table(
    name="data_records",
    comment="Every record of a partition's segments, control records too; no table of the warehouse.",
    schema=pa.schema(
        [
            NODE_ID,
            column("topic", pa.string(), "Topic, by the name of the directory; null: that is no partition's."),
            column("partition", pa.int32(), "Number of the partition, by the name of the directory."),
            SOURCE,
            POSITION,
            *BATCH_COLUMNS,
            column("sequence", pa.int32(), "Sequence number of the record; -1 without."),
            column("is_transactional", pa.bool_(), "Whether the batch is part of a transaction."),
            column("is_control", pa.bool_(), "Whether it is a control record: its key names the kind."),
            column("key", pa.binary(), "Bytes of the key."),
            column("value", pa.binary(), "Bytes of the value; null: a tombstone."),
            column("headers", HEADERS_TYPE, "Headers in their order; a key may repeat."),
        ]
    ),
)
_AS_THEY_ARE: Final = ("position", "offset", "epoch", "producer_id", "producer_epoch")


def read_data_records(chunks: Iterable[Chunk], origin: Origin, report: ReadReport) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a segment in file order; problems go to `report`."""
    for chunk in chunks:
        for rows in records(chunk.data, headers=True, report=report, file_position=chunk.position):
            yield _rows(rows, origin)


def frame_columns(rows: pa.RecordBatch) -> Arrays:
    """Return the frame columns of a batch of `columnar.records`, under the names that the tables use."""
    arrays = {name: rows.column(name) for name in _AS_THEY_ARE}
    attributes = rows.column("attributes").to_numpy(zero_copy_only=False)
    return arrays | {
        "timestamp": timestamps(rows.column("timestamp")),
        "is_transactional": pa.array((attributes & np.int16(TRANSACTIONAL_BIT)) != 0),
        "key": rows.column("key").cast(pa.binary()),
        "value": rows.column("value").cast(pa.binary()),
    }


def _rows(rows: pa.RecordBatch, origin: Origin) -> pa.RecordBatch:
    directory = parse_partition_directory(origin.directory_name)
    topic, partition = (directory.topic, directory.partition) if directory is not None else (None, None)
    arrays = origin_columns(origin, rows.num_rows) | frame_columns(rows)
    arrays |= {
        "topic": constant_array(topic, rows.num_rows, pa.string()),
        "partition": constant_array(partition, rows.num_rows, pa.int32()),
        "sequence": rows.column("sequence"),
        "is_control": rows.column("is_control"),
        "headers": rows.column("headers").cast(HEADERS_TYPE),
    }
    return pa.RecordBatch.from_arrays([arrays[name] for name in DATA_RECORDS.schema.names], schema=DATA_RECORDS.schema)
