"""The file that rows come from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A file by its full name, and the node that owns its data directory, if known."""

    source: str
    node_id: int | None = None

    @property
    def directory_name(self) -> str:
        """Name of the directory that holds the file; of a partition: `orders-3`."""
        return self.source.rpartition("/")[0].rpartition("/")[2]
