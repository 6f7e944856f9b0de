"""What a leader knows of the others: how far each is, who fetched lately, what is committed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from falkirk.protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.endpoint import Endpoint
    from falkirk.raft.voter_set import ReplicaKey, VoterNode, VoterSet

OBSERVER_SESSION_MS: Final = 300_000
"""An observer that did not fetch for this long is forgotten."""
CAUGHT_UP_WITHIN_MS: Final = 3_600_000
"""A replica may become a voter if it has fetched within the last hour and was once at the log's end."""


@dataclass(slots=True, kw_only=True)
class ReplicaProgress:
    """How far a replica is. Times in ms, -1: never; offsets None: not known."""

    key: ReplicaKey
    end_offset: int | None = None
    last_fetch_ms: int = -1
    last_caught_up_ms: int = -1
    leader_end_at_last_fetch: int = -1
    # What the last answer said; -1: nothing.
    told_high_watermark: int = -1

    def fetched(self, offset: int, leader_end: int, now_ms: int) -> None:
        """Take in a fetch at `offset`, before which the replica has everything."""
        if offset >= leader_end:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif 0 < self.leader_end_at_last_fetch <= offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.leader_end_at_last_fetch = leader_end
        self.last_fetch_ms = max(self.last_fetch_ms, now_ms)
        self.end_offset = offset


@dataclass(slots=True, kw_only=True)
class PendingVoterChange:
    """An Add- or RemoveRaftVoter under way; `token` is the waiting request, None once it has its answer.

    `offset`: where the new voters stand in the log; None while the new voter is asked what it can run.
    """

    is_addition: bool
    token: int | None
    deadline_ms: int
    key: ReplicaKey
    listeners: Mapping[str, Endpoint] = field(default_factory=dict)
    ack_when_committed: bool = True
    offset: int | None = None


@dataclass(slots=True, kw_only=True)
class Leader:
    """`high_watermark` is None until a record of the own epoch is committed: what was before is not known for sure."""

    own_key: ReplicaKey
    epoch: int
    epoch_start_offset: int
    granting: tuple[int, ...]
    check_quorum_deadline_ms: int
    begin_epoch_at_ms: int
    high_watermark: int | None = None
    voters: dict[int, ReplicaProgress] = field(default_factory=dict)
    observers: dict[ReplicaKey, ReplicaProgress] = field(default_factory=dict)
    # Voters that fetched since check_quorum_deadline_ms was last moved.
    fetched_voters: set[int] = field(default_factory=set)
    pending_change: PendingVoterChange | None = None

    def set_voters(self, voters: VoterSet) -> None:
        """Take in the voters in force. Those that were voters before are observers now, and the other way round."""
        former = dict(self.voters)
        self.voters = {}
        for node in voters:
            self.voters[node.key.node_id] = self._progress_of(node, former)
        for progress in former.values():
            self.observers.setdefault(progress.key, progress)

    def _progress_of(self, node: VoterNode, former: dict[int, ReplicaProgress]) -> ReplicaProgress:
        node_id = node.key.node_id
        known = former.get(node_id)
        if known is not None and known.key.directory_id in (ZERO_UUID, node.key.directory_id):
            del former[node_id]
            known.key = node.key
            return known
        found = self.observers.pop(node.key, None)
        return ReplicaProgress(key=node.key) if found is None else found

    def progress(self, key: ReplicaKey) -> ReplicaProgress:
        """Give what is known of a replica; one that is not a voter is an observer from now on."""
        known = self.voter_progress(key)
        if known is None:
            known = self.observers.get(key)
        if known is None:
            known = self.observers[key] = ReplicaProgress(key=key)
        return known

    def voter_progress(self, key: ReplicaKey) -> ReplicaProgress | None:
        """Give what is known of a voter; None for a replica that is not one, its directory considered."""
        known = self.voters.get(key.node_id)
        if known is None or known.key.directory_id not in (ZERO_UUID, key.directory_id):
            return None
        return known

    def update_high_watermark(self) -> bool:
        """Move it to what a majority of the voters has; say whether it moved.

        Only once that holds a record of the own epoch: no later leader can then lack what is below. It never falls,
        though a change of the voters may let the majority's offset fall.
        """
        ends = sorted(
            (-1 if each.end_offset is None else each.end_offset for each in self.voters.values()), reverse=True
        )
        offset = ends[len(ends) // 2]
        if offset <= self.epoch_start_offset or offset <= (self.high_watermark or 0):
            return False
        self.high_watermark = offset
        return True

    def voter_fetched(self, key: ReplicaKey, now_ms: int, timeout_ms: int) -> None:
        """Count a voter as reachable; with a majority the time in which that must happen again begins anew."""
        if self.voter_progress(key) is None:
            return
        self.fetched_voters.add(key.node_id)
        if len(self.fetched_voters) >= self._others_needed():
            self.fetched_voters.clear()
            self.check_quorum_deadline_ms = now_ms + timeout_ms

    def is_quorum_lost(self, now_ms: int) -> bool:
        """Say whether a majority has stopped to fetch."""
        return now_ms >= self.check_quorum_deadline_ms and self._others_needed() > 0

    def is_caught_up(self, key: ReplicaKey, now_ms: int) -> bool:
        """Say whether an observer is near enough to become a voter without holding up commits."""
        known = self.observers.get(key)
        return known is not None and known.last_caught_up_ms > 0 and known.last_fetch_ms > now_ms - CAUGHT_UP_WITHIN_MS

    def successors(self) -> tuple[ReplicaKey, ...]:
        """Give the other voters, the most caught up first."""
        others = [each for each in self.voters.values() if each.key.node_id != self.own_key.node_id]
        others.sort(key=lambda each: (1 if each.end_offset is None else -each.end_offset, each.key))
        return tuple(each.key for each in others)

    def forget_idle_observers(self, now_ms: int) -> None:
        """Drop observers that are gone."""
        for key, progress in list(self.observers.items()):
            if now_ms - progress.last_fetch_ms >= OBSERVER_SESSION_MS and key != self.own_key:
                del self.observers[key]

    def _others_needed(self) -> int:
        return len(self.voters) // 2 + 1 - (self.own_key.node_id in self.voters)
