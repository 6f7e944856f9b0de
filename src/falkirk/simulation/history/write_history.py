"""Metadata writes that were requested and acknowledged: an acknowledged write must never be lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

# The configs that administrators set.
QUOTA: Final = "consumer_byte_rate"
TOPIC_CONFIG: Final = "retention.ms"
SCRAM_SHA_256: Final = 1


@dataclass(slots=True)
class Register:
    """A value that one administrator sets again and again: all requested values, in order.

    `acknowledged`: how many had been requested at the last acknowledgement: that one or a later one must be in force.
    """

    values: list[object] = field(default_factory=list)
    acknowledged: int = 0

    def acknowledge(self) -> None:
        """Record that the last requested value is set."""
        self.acknowledged = len(self.values)

    def allowed(self, *, are_requests_repeated: bool) -> list[object]:
        """Return the values that may be in force; empty, for any, before the first acknowledgement.

        Where old requests may be repeated, every requested value is allowed.
        """
        if not self.acknowledged:
            return []
        return self.values if are_requests_repeated else self.values[self.acknowledged - 1 :]


@dataclass(slots=True)
class TopicHistory:
    """One topic; no name is used twice. A request without an answer may have been applied or not."""

    topic_id: bytes | None = None  # from the acknowledged creation
    is_deletion_requested: bool = False
    is_deletion_acknowledged: bool = False
    config: Register = field(default_factory=Register)
    partition_count: Register = field(default_factory=Register)


@dataclass(slots=True)
class History:
    """All topics of a run, and other settings, by name. `acknowledged` counts writes that must survive.

    A register holds the value of a quota, the iterations of a SCRAM credential, or whether an ACL exists.
    """

    topics: dict[str, TopicHistory] = field(default_factory=dict)
    quotas: dict[str, Register] = field(default_factory=dict)
    scram_iterations: dict[str, Register] = field(default_factory=dict)
    acls: dict[str, Register] = field(default_factory=dict)
    # Of metadata.version; empty if no operator changes it.
    levels: Register = field(default_factory=Register)
    requested: int = 0
    acknowledged: int = 0
    acknowledged_through_brokers: int = 0
