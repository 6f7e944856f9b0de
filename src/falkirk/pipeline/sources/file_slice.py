"""The unit that one worker reads at a time: some bytes of a file."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.datasource import InputPartition


@dataclass(frozen=True, kw_only=True)
class FileSlice(InputPartition):
    """Bytes of a file from `start` to `end`, both at borders."""

    uri: str
    node_id: int | None = None
    start: int = 0
    end: int = 0
