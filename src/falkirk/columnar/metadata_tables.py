"""Metadata records of a log or a snapshot as typed tables.

PartitionRecord, TopicRecord, ConfigRecord and PartitionChangeRecord, which make up all but a few records of a cluster,
are decoded in bulk; all other types by the row codec into one table of their JSON forms. Records of a type or version
that no release has are counted and named in the report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from falkirk.columnar import schemas
from falkirk.columnar.kernels.field_plan import field_plan
from falkirk.columnar.message_columns import message_columns
from falkirk.columnar.metadata_frames import metadata_frames, read_record
from falkirk.columnar.other_records import other_records
from falkirk.columnar.record_columns import joined_batch, place_columns
from falkirk.columnar.record_frames import iter_record_blocks
from falkirk.protocol.messages import METADATA_RECORDS, message_class

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.columnar.metadata_frames import MetadataFrames
    from falkirk.columnar.record_frames import RecordBlock
    from falkirk.columnar.report import ReadReport

OTHER: Final = "other"
METADATA_TABLES: Final[dict[str, pa.Schema]] = {
    "PartitionRecord": schemas.PARTITION_RECORDS,
    "TopicRecord": schemas.TOPIC_RECORDS,
    "ConfigRecord": schemas.CONFIG_RECORDS,
    "PartitionChangeRecord": schemas.PARTITION_CHANGE_RECORDS,
    OTHER: schemas.OTHER_METADATA_RECORDS,
}
"""Table -> schema. All but one are named after their record."""
OTHER_TYPES: Final = frozenset(number for number, name in METADATA_RECORDS.items() if name not in METADATA_TABLES)
"""Record types without a table of their own."""
_NUMBERS: Final = {name: record_type for record_type, name in METADATA_RECORDS.items()}


def iter_metadata_tables(
    buffer: Any,  # Any: whatever has the buffer protocol
    *,
    tables: frozenset[str] = frozenset(METADATA_TABLES),
    report: ReadReport,
    file_position: int = 0,
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Read a metadata log or snapshot of whole batches; yield (table, rows), each table's rows in file order.

    Only the `tables` wanted are decoded; the records of the others are counted in `report.record_counts`.
    `file_position` is the byte of the file where the buffer was cut out. Problems go to `report`.
    """
    for block in iter_record_blocks(buffer, report, file_position=file_position):
        frames = metadata_frames(block, report)
        for table in METADATA_TABLES:
            if table in tables:
                batch = _rows(block, frames, table, report)
                if batch is not None:
                    yield table, batch


def typed_rows(
    block: RecordBlock, frames: MetadataFrames, record_type: int, schema: pa.Schema, report: ReadReport
) -> pa.RecordBatch | None:
    """Decode a block's records of one type in bulk, all their versions; None if it has none."""
    cls = message_class(METADATA_RECORDS[record_type])
    types = {name: schema.field(name).type for name in cls.__struct_fields__}
    parts = []
    for version, rows in frames.of_type(record_type).items():
        columns = message_columns(
            field_plan(cls, version),
            types,
            data=block.data,
            start=frames.body_at[rows],
            end=block.value_end[rows],
            by_row=lambda index, rows=rows: read_record(block, int(rows[index]), report),  # type: ignore[misc]
        )
        kept = rows[columns.kept]
        if len(kept):
            versions = pa.array(np.full(len(kept), version, np.int16))
            parts.append((kept, place_columns(block, kept) | {"record_version": versions} | columns.arrays))
    return joined_batch(schema, parts) if parts else None


def _rows(block: RecordBlock, frames: MetadataFrames, table: str, report: ReadReport) -> pa.RecordBatch | None:
    if table == OTHER:
        return other_records(block, frames, OTHER_TYPES, report)
    return typed_rows(block, frames, _NUMBERS[table], METADATA_TABLES[table], report)
