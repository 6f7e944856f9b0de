"""Marks: rare states that runs must reach to be worth running, counted from facts and events."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from falkirk.metadata.image.cluster import ClusterImage
    from falkirk.node.effects import Fact

_BY_EVENT: Final = {
    "raft-truncated": "log truncated after divergence",
    "raft-snapshot-fetch": "snapshot fetched",
    "raft-snapshot-installed": "snapshot installed",
    "raft-quorum-lost": "leader resigned by check-quorum",
    "raft-voter-added": "voter added",
    "raft-voter-removed": "voter removed",
    "raft-leader-removed": "leader removed from the voters",
    "snapshot-written": "snapshot written",
    "metadata-file-removed": "log start moved",
    "torn-write-cut-off": "torn write cut off",
    "shutdown-begins": "orderly shutdown",
    "vote-granted": "vote granted",
    "broker-registered": "broker node registered",
    "controller-activated": "controller activated",
    "replica-moved": "replica moved to another log directory",
}

MARKS: Final = (
    *_BY_EVENT.values(),
    "broker fenced",
    "broker unfenced",
    "pre-vote election",
    "election without pre-vote",
    "leader crashed",
    "leader cut off one way",
    "election after a leader crash",
    "crash within a change on disk",
    "request repeated",
    "connection broken",
    "disk failed",
    "disk wiped",
    "power lost",
    "leader of a partition elected",
    "replica cut off its log",
    "records deleted",
    "committed with a replica out of sync",
    "committed while replicas are moved",
    "producer gave up",
    "offsets committed by a group",
    "members of both protocols in a group",
    "administrator served through a broker",
    "metadata.version raised",
    "metadata.version lowered",
    "node stopped that could not run what is finalized",
    "node waited for before an older release was started",
    "level kept back by a ghost",
    "eligible.leader.replicas.version raised",
    "eligible.leader.replicas.version lowered",
    "replica eligible to lead",
)

WORN_MARKS: Final = (
    "bit of metadata flipped",
    "flipped bit refused",
    "bit of data flipped",
    "clock set back",
    "disk was slow",
)
"""Those of runs on worn hardware alone."""


class Marks:
    """How often a run reached each mark."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._has_leader_crashed = False
        self._fenced: dict[int, bool] = {}
        self._cluster: ClusterImage | None = None

    def add(self, mark: str, count: int = 1) -> None:
        """Count a mark `count` times."""
        assert mark in MARKS or mark in WORN_MARKS
        if count:
            self.counts[mark] += count

    def leader_crashed(self) -> None:
        """Record that the host of a leader crashed."""
        self.add("leader crashed")
        self._has_leader_crashed = True

    def count_fencing(self, cluster: ClusterImage) -> None:
        """Count brokers that the active controller has fenced or unfenced."""
        if cluster is self._cluster:
            return
        self._cluster = cluster
        for broker_id, broker in cluster.brokers.items():
            if self._fenced.get(broker_id, True) != broker.fenced:
                self.add("broker fenced" if broker.fenced else "broker unfenced")
            self._fenced[broker_id] = broker.fenced

    def count_fact(self, fact: Fact) -> None:
        """Count the marks that a fact shows."""
        mark = _BY_EVENT.get(fact.event)
        if mark is not None:
            self.add(mark)
        if fact.event == "raft-state":
            self._count_state(str(fact.fields["state"]), str(fact.fields["left"]))

    def _count_state(self, state: str, left: str) -> None:
        if state == "candidate":
            self.add("pre-vote election" if left == "prospective" else "election without pre-vote")
        elif state == "leader" and self._has_leader_crashed:
            self._has_leader_crashed = False
            self.add("election after a leader crash")
