"""The leader's state: the progress of voters and observers, and the high watermark."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from falkirk.protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
    from falkirk.raft.voter_set import ReplicaKey, VoterNode, VoterSet

OBSERVER_SESSION_MS: Final = 300_000
"""An observer that has not fetched for this long is removed."""
ANNOUNCEMENT_WAIT_MS_MAX: Final = 60_000
"""A registered controller that never fetches may be gone for good: it is told who leads ever more rarely."""
CAUGHT_UP_WITHIN_MS: Final = 3_600_000
"""A replica may become a voter if it has fetched within the last hour and was at the log's end once."""


@dataclass(slots=True, kw_only=True)
class ReplicaProgress:
    """The progress of a replica. Times in ms, -1: never; offsets None: unknown."""

    key: "ReplicaKey"
    end_offset: int | None = None
    last_fetch_ms: int = -1
    last_caught_up_ms: int = -1
    leader_end_at_last_fetch: int = -1
    # In the last response; -1: none.
    sent_high_watermark: int = -1
    # Whether the last fetch said that the replica can apply a record that lowers metadata.version.
    follows_lowerings: bool = False
    # The offered snapshot by which it went past a lowering.
    fetched_offer: "OffsetAndEpoch | None" = None

    def fetched(self, offset: int, leader_end: int, now_ms: int) -> None:
        """Update after a fetch at `offset`, below which the replica has everything."""
        if offset >= leader_end:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif 0 < self.leader_end_at_last_fetch <= offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.leader_end_at_last_fetch = leader_end
        self.last_fetch_ms = max(self.last_fetch_ms, now_ms)
        self.end_offset = offset


@dataclass(slots=True, kw_only=True)
class PendingVoterChange:
    """An Add- or RemoveRaftVoter in progress; `token` is the waiting request, None once it is answered.

    `offset`: that of the new voters in the log; None while the new voter's ApiVersions response is awaited.
    """

    is_addition: bool
    token: int | None
    deadline_ms: int
    key: "ReplicaKey"
    listeners: "Mapping[str, Endpoint]" = field(default_factory=dict)
    ack_when_committed: bool = True
    offset: int | None = None


@dataclass(slots=True, kw_only=True)
class Leader:
    """`high_watermark` is None until a record of this epoch is committed: before that it is not known."""

    own_key: "ReplicaKey"
    epoch: int
    epoch_start_offset: int
    granting: tuple[int, ...]
    check_quorum_deadline_ms: int
    begin_epoch_at_ms: int
    high_watermark: int | None = None
    voters: dict[int, ReplicaProgress] = field(default_factory=dict)
    observers: "dict[ReplicaKey, ReplicaProgress]" = field(default_factory=dict)
    # Voters that fetched since check_quorum_deadline_ms was last moved.
    fetched_voters: set[int] = field(default_factory=set)
    pending_change: PendingVoterChange | None = None
    # What voters have reported of themselves at kraft.version 0, by node id.
    reported_voters: "dict[int, VoterNode]" = field(default_factory=dict)
    # Of this epoch, and perhaps not committed: for voters that are held back.
    offered_snapshot: "OffsetAndEpoch | None" = None
    # Of silent controllers that do not vote: when the next announcement is due, and the wait after it.
    announcements: dict[int, tuple[int, int]] = field(default_factory=dict)

    def set_voters(self, voters: VoterSet, check_quorum_deadline_ms: int) -> None:
        """Apply the voters in force: former voters become observers, and observers voters.

        The check-quorum timeout starts anew, with the given end, where a majority needs more other voters than before:
        those had no reason to fetch as voters so far.
        """
        former, others_needed = dict(self.voters), self._others_needed()
        self.voters = {}
        for node in voters:
            self.voters[node.key.node_id] = self._progress_of(node, former)
        for progress in former.values():
            self.observers.setdefault(progress.key, progress)
        if self._others_needed() > others_needed:
            self.check_quorum_deadline_ms = check_quorum_deadline_ms

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
        """Return the progress of a replica; an unknown one is added as an observer."""
        known = self.voter_progress(key)
        if known is None:
            known = self.observers.get(key)
        if known is None:
            known = self.observers[key] = ReplicaProgress(key=key)
        return known

    def voter_progress(self, key: ReplicaKey) -> ReplicaProgress | None:
        """Return the progress of a voter; None for a replica, with its directory, that is not one."""
        known = self.voters.get(key.node_id)
        if known is None or known.key.directory_id not in (ZERO_UUID, key.directory_id):
            return None
        return known

    def update_high_watermark(self) -> bool:
        """Raise the high watermark to what a majority of voters has; return whether it moved.

        It moves only to above a record of this epoch: no later leader can then lack what is below. It never falls,
        though a change of voters may lower the majority's offset.
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
        """Record that a voter is reachable; a majority of them restarts the check-quorum timeout."""
        if self.voter_progress(key) is None:
            return
        self.fetched_voters.add(key.node_id)
        if len(self.fetched_voters) >= self._others_needed():
            self.fetched_voters.clear()
            self.check_quorum_deadline_ms = now_ms + timeout_ms

    def is_quorum_lost(self, now_ms: int) -> bool:
        """Return whether a majority has stopped fetching."""
        return now_ms >= self.check_quorum_deadline_ms and self._others_needed() > 0

    def is_silent(self, node_id: int, since_ms: int) -> bool:
        """Return whether a node has not fetched after a time, as a voter or as an observer with any directory."""
        voter = self.voters.get(node_id)
        known = [each for key, each in self.observers.items() if key.node_id == node_id]
        if voter is not None:
            known = [voter]
        return all(each.last_fetch_ms < 0 or each.last_fetch_ms <= since_ms for each in known)

    def pop_due_announcement(self, node_id: int, now_ms: int, interval_ms: int) -> bool:
        """Return whether an announcement to a silent node is due, and schedule the next; voters need no backoff."""
        if not self.is_silent(node_id, now_ms - interval_ms):
            self.announcements.pop(node_id, None)
            return False
        if node_id in self.voters:
            return True
        due_ms, wait_ms = self.announcements.get(node_id, (now_ms, interval_ms))
        if now_ms < due_ms:
            return False
        self.announcements[node_id] = (now_ms + wait_ms, min(2 * wait_ms, ANNOUNCEMENT_WAIT_MS_MAX))
        return True

    def is_caught_up(self, key: ReplicaKey, now_ms: int) -> bool:
        """Return whether an observer is close enough to become a voter without delaying commits."""
        known = self.observers.get(key)
        return known is not None and known.last_caught_up_ms > 0 and known.last_fetch_ms > now_ms - CAUGHT_UP_WITHIN_MS

    def lowering_support(self, now_ms: int, timeout_ms: int) -> dict[int, bool]:
        """Return, for the other voters that have fetched within the timeout, whether they follow a lowering."""
        return {
            node_id: each.follows_lowerings
            for node_id, each in self.voters.items()
            if node_id != self.own_key.node_id and each.last_fetch_ms >= 0 and now_ms - each.last_fetch_ms < timeout_ms
        }

    def can_offer(self, snapshot: OffsetAndEpoch) -> bool:
        """Return whether voters that have a snapshot's records and one that fetches it block any other majority."""
        having = sum((each.end_offset or 0) >= snapshot.offset for each in self.voters.values())
        majority = len(self.voters) // 2 + 1
        return having + 1 + majority > len(self.voters)

    def successors(self) -> tuple[ReplicaKey, ...]:
        """Return the other voters, the most caught up first."""
        others = [each for each in self.voters.values() if each.key.node_id != self.own_key.node_id]
        others.sort(key=lambda each: (1 if each.end_offset is None else -each.end_offset, each.key))
        return tuple(each.key for each in others)

    def forget_idle_observers(self, now_ms: int) -> None:
        """Remove observers that no longer fetch."""
        for key, progress in list(self.observers.items()):
            if now_ms - progress.last_fetch_ms >= OBSERVER_SESSION_MS and key != self.own_key:
                del self.observers[key]

    def _others_needed(self) -> int:
        return len(self.voters) // 2 + 1 - (self.own_key.node_id in self.voters)
