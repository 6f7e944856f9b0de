"""How a cluster stood on the days of its ingests."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from falkirk.pipeline.tables.table import TIMESTAMP, Table, column

LOSSES_TYPE: Final = pa.list_(
    pa.struct([pa.field("kind", pa.string()), pa.field("level", pa.int16()), pa.field("count", pa.int64())])
)

TRENDS: Final = Table(
    name="trends",
    comment="How each cluster stood on the days of its ingests: a row for each day on which an ingest found its "
    "metadata changed, as the last of them left it. On the days between it stood as before.",
    schema=pa.schema(
        [
            column("day", pa.date32(), "Day of the ingest, in UTC."),
            column("ingested_at", TIMESTAMP, "Time of that day's last ingest."),
            column("end_offset", pa.int64(), "End offset of the metadata."),
            column("metadata_version", pa.int16(), "Finalized level of metadata.version; null: none."),
            column("lowest_level", pa.int16(), "Lowest metadata.version that holds its data without loss."),
            column(
                "losses",
                LOSSES_TYPE,
                "How many objects of each kind only this level and those above can hold: a lower target loses them.",
            ),
            column(
                "supported_min", pa.int16(), "Lowest metadata.version that every registered node supports; null: none."
            ),
            column("supported_max", pa.int16(), "Highest one: nodes block a target beyond these two."),
            column("partitions", pa.int64(), "How many partitions it has."),
            column("fenced_brokers", pa.int32(), "How many of its brokers are fenced."),
        ]
    ),
)
