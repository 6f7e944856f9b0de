"""Requests that nodes served, from their request logs."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from falkirk.pipeline.tables.table import SOURCE, TIMESTAMP, Table, column

REQUESTS: Final = Table(
    name="requests",
    comment="One row for each line of a request log.",
    schema=pa.schema(
        [
            column("node_id", pa.int32(), "Node that wrote the log, from the inventory or from the line."),
            SOURCE,
            column("position", pa.int64(), "Byte of the file where the line starts."),
            column("timestamp", TIMESTAMP, "Time before the object, or in it; null: none."),
            column("api_key", pa.int16(), "Number of the API."),
            column("api", pa.string(), "Name of the API: `Fetch`."),
            column("api_version", pa.int16(), "Version of the request."),
            column("client_id", pa.string(), "client.id."),
            column("software_name", pa.string(), "Name of the client's software in this line; null: none."),
            column("software_version", pa.string(), "Version of that software."),
            column("connection", pa.string(), "Id of the connection: both addresses and a number."),
            column("client_host", pa.string(), "Address that the connection comes from."),
            column("listener", pa.string(), "Listener that served it."),
            column("security_protocol", pa.string(), "`PLAINTEXT`, `SSL`, `SASL_PLAINTEXT`, `SASL_SSL`."),
            column("principal", pa.string(), "Principal: `User:alice`."),
            column("is_forwarded", pa.bool_(), "Whether a broker forwarded it (Envelope)."),
            column(
                "is_deprecated", pa.bool_(), "Whether the node marks the version as deprecated; null: not in the line."
            ),
            column("group_id", pa.string(), "Group that the request names; null: none."),
            column("transactional_id", pa.string(), "Transactional id that the request names; null: none."),
            column("error_code", pa.int16(), "Top-level error code of the response; null: it has none."),
            column("total_time_ms", pa.float64(), "Time from receiving to answering."),
        ]
    ),
)
