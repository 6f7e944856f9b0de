"""How the voters of the metadata quorum change in its log (KIP-853)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from falkirk.protocol.messages import VotersRecord


class VotersChange(NamedTuple):
    """A control record that changes the quorum's voters or its kraft.version. Fields that it does not change: None."""

    offset: int
    kraft_version: int | None
    voters: "VotersRecord | None"
