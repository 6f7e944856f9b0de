"""What a worker reads at a time: some bytes of a file."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.datasource import InputPartition


@dataclass(frozen=True, kw_only=True)
class FileSlice(InputPartition):
    """Bytes of a file from `start` to `end`, both between batches or lines; or (`told`) what there is to say of it."""

    uri: str
    node_id: int | None = None
    start: int = 0
    end: int = 0
    # A sentence for the table `problems`: the file is gone, or another one.
    told: str | None = None
