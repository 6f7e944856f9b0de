"""What was asked of the cluster, and what it said it had done: a write that was acknowledged must never be gone."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class TopicHistory:
    """One topic's name; no name is used twice. Requests whose answer never came may have been done or not."""

    topic_id: bytes | None = None  # as the acknowledged creation said
    is_deletion_asked: bool = False
    is_deletion_acknowledged: bool = False
    # Values of one config, in the order in which they were asked for.
    config_values: list[str] = field(default_factory=list)
    # How many of them had been asked for when the last one was acknowledged: that one, or one after it, must be there.
    acknowledged_config_values: int = 0


@dataclass(slots=True)
class History:
    """All topics of a run, by name. `acknowledged` counts the writes that must survive."""

    topics: dict[str, TopicHistory] = field(default_factory=dict)
    asked: int = 0
    acknowledged: int = 0
