"""How metadata.version changes in the metadata log (KIP-778)."""

from __future__ import annotations

from typing import NamedTuple


class LevelChange(NamedTuple):
    """A record that sets metadata.version to `level`, and the batch that holds it: `end_offset` is behind its last."""

    base_offset: int
    end_offset: int
    level: int
