"""What a watch saw of a running cluster, from its journal."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from falkirk.pipeline.tables.table import SOURCE, TIMESTAMP, Table, column

_KINDS_TYPE: Final = pa.list_(pa.struct([pa.field("kind", pa.string()), pa.field("count", pa.int64())]))

WATCH_EVENTS: Final = Table(
    name="watch_events",
    comment="One row for each event in the journal of `falkirk watch`: ways that closed and opened, levels that moved.",
    schema=pa.schema(
        [
            SOURCE,
            column("event_id", pa.int64(), "Number of the event in the journal."),
            column("key", pa.string(), "Key of the event, as alarms have it."),
            column("kind", pa.string(), "`way_closed`, `way_opened`, `level_changed` and so on."),
            column("release", pa.string(), "Older release that the way leads to; null: not about a way."),
            column("at", TIMESTAMP, "When the record was written that did it, else when it was seen."),
            column("noted_at", TIMESTAMP, "When the watch stored the event."),
            column("cluster_id", pa.string(), "Id of the cluster."),
            column("text", pa.string(), "The event, as a sentence."),
            column("loss_kind", pa.string(), "Kind of the loss that closed the way; null: no way was closed."),
            column("loss_key", pa.string(), "What would be lost."),
            column("log", pa.string(), "Log of the record that closed the way."),
            column("offset", pa.int64(), "Its offset; null: only a snapshot has it."),
            column("record", pa.string(), "Its type."),
            column("fields", pa.string(), "All facts of the event, as JSON."),
        ]
    ),
)

WATCH_WAYS: Final = Table(
    name="watch_ways",
    comment="One row for each older release and each moment that the journal of `falkirk watch` keeps: the trend.",
    schema=pa.schema(
        [
            SOURCE,
            column("at", TIMESTAMP, "The moment, by the clock of the watch."),
            column("cluster_id", pa.string(), "Id of the cluster."),
            column("metadata_version", pa.int16(), "Finalized level of metadata.version; null: none."),
            column("lowest_level", pa.int16(), "Lowest metadata.version that holds everything."),
            column("release", pa.string(), "Older release that the way leads to."),
            column("level", pa.int16(), "metadata.version that the cluster would have there."),
            column("state", pa.string(), "`open`, `closed`, `blocked`, `unknown` or `not_below`."),
            column("losses", pa.int64(), "Things that would be lost."),
            column("losses_by_kind", _KINDS_TYPE, "The same by kind."),
            column("blockers", pa.int32(), "Things that have to be settled before."),
            column(
                "closed_at", TIMESTAMP, "When the record was written that closed the way; null: open, or not known."
            ),
            column("closed_by", pa.string(), "What that record brought about, as a sentence."),
        ]
    ),
)
