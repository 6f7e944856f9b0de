"""What was asked of the cluster, and what it said it had done: a write that was acknowledged must never be gone."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Register:
    """One value that is set again and again: all that was asked for, in order, by one administrator.

    `acknowledged`: how many had been asked for when the last one was acknowledged: that one, or one after it, must be
    there.
    """

    values: list[object] = field(default_factory=list)
    acknowledged: int = 0

    def acknowledge(self) -> None:
        """Take note that the last value is set."""
        self.acknowledged = len(self.values)

    def allowed(self, *, are_requests_repeated: bool) -> list[object]:
        """Give the values that may be there; none are known before an acknowledgement.

        Where an old request may come again it may be any of those that were asked for.
        """
        if not self.acknowledged:
            return []
        return self.values if are_requests_repeated else self.values[self.acknowledged - 1 :]


@dataclass(slots=True)
class TopicHistory:
    """One topic's name; no name is used twice. Requests whose answer never came may have been done or not."""

    topic_id: bytes | None = None  # as the acknowledged creation said
    is_deletion_asked: bool = False
    is_deletion_acknowledged: bool = False
    config: Register = field(default_factory=Register)
    partition_count: Register = field(default_factory=Register)


@dataclass(slots=True)
class History:
    """All topics of a run, and other things that are set, by name. `acknowledged` counts writes that must survive.

    Of quotas the value, of SCRAM credentials the iterations, of ACLs whether there is one.
    """

    topics: dict[str, TopicHistory] = field(default_factory=dict)
    quotas: dict[str, Register] = field(default_factory=dict)
    scram_iterations: dict[str, Register] = field(default_factory=dict)
    acls: dict[str, Register] = field(default_factory=dict)
    # Of metadata.version; empty where nobody changes it.
    levels: Register = field(default_factory=Register)
    asked: int = 0
    acknowledged: int = 0
    acknowledged_through_brokers: int = 0
