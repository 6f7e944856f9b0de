"""What a row says of the file that it comes from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The file by its full name, and the node in whose directories it stands, where one is known."""

    source: str
    node_id: int | None = None

    @property
    def directory_name(self) -> str:
        """Name of the directory that holds the file; of a partition: `orders-3`."""
        return self.source.rpartition("/")[0].rpartition("/")[2]
