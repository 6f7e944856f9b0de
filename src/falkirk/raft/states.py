"""The states of a replica in an epoch, as in Kafka's QuorumState. The leader's state is in `leader_state`.

Unattached: knows no leader to follow; may have voted. Follower: fetches from a leader. Prospective: requests pre-votes
(KIP-996). Candidate: requests votes. Leader. Resigned: has led, and will not lead again in this epoch. Observers are
only ever Unattached or Follower.

Unattached  -> Unattached (higher epoch; vote granted), Prospective (election timeout), Follower (leader found)
Prospective -> Unattached (higher epoch; too few votes, no leader known), Candidate (majority), Follower
Candidate   -> Unattached (higher epoch), Prospective (election timeout), Leader (majority), Follower
Follower    -> Unattached (higher epoch), Prospective (fetch timeout), Follower (higher epoch)
Leader      -> Unattached or Follower (higher epoch), Resigned
Resigned    -> Unattached (higher epoch; election timeout, in the next epoch), Follower
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from falkirk.raft.leader_state import Leader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
    from falkirk.raft.voter_set import ReplicaKey, VoterSet


class EpochElection:
    """The votes of an election, by the voter's node id."""

    def __init__(self, voters: VoterSet, own_id: int) -> None:
        self._votes: dict[int, bool | None] = dict.fromkeys(voters.ids)
        self.keys = {node.key.node_id: node.key for node in voters}
        self.record(own_id, is_granted=True)

    def record(self, node_id: int, *, is_granted: bool) -> None:
        """Record a vote; votes of other nodes than voters are ignored."""
        if node_id in self._votes:
            self._votes[node_id] = is_granted

    @property
    def granting(self) -> tuple[int, ...]:
        """The voters that granted their vote, ascending."""
        return tuple(node_id for node_id, vote in self._votes.items() if vote)

    @property
    def unrecorded(self) -> tuple[ReplicaKey, ...]:
        """The voters that have not answered."""
        return tuple(self.keys[node_id] for node_id, vote in self._votes.items() if vote is None)

    @property
    def is_granted(self) -> bool:
        """True if a majority has granted its vote."""
        return 2 * len(self.granting) > len(self._votes)

    @property
    def is_rejected(self) -> bool:
        """True if a majority can no longer be reached."""
        return 2 * (len(self.granting) + len(self.unrecorded)) <= len(self._votes)


@dataclass(slots=True, kw_only=True)
class Unattached:
    """`leader_id`: a leader of this epoch whose endpoint is unknown. An observer has no deadline."""

    epoch: int
    leader_id: int | None = None
    voted: "ReplicaKey | None" = None
    election_deadline_ms: int | None


@dataclass(slots=True, kw_only=True)
class SnapshotDownload:
    """A snapshot being fetched; `position`: the bytes received so far."""

    snapshot: "OffsetAndEpoch"
    position: int = 0


@dataclass(slots=True, kw_only=True)
class Follower:
    """`listeners`: the leader's endpoints, never empty."""

    epoch: int
    leader_id: int
    listeners: "Mapping[str, Endpoint]"
    voted: "ReplicaKey | None" = None
    fetch_deadline_ms: int
    update_voters_at_ms: int
    # Whether the leader has what only this voter knows of itself at kraft.version 0.
    has_updated_leader: bool = False
    has_fetched: bool = False
    download: SnapshotDownload | None = None


@dataclass(slots=True, kw_only=True)
class Prospective:
    """Keeps the vote, and the leader that went silent with its endpoints."""

    epoch: int
    leader_id: int | None
    listeners: "Mapping[str, Endpoint]"
    voted: "ReplicaKey | None"
    election: EpochElection
    election_deadline_ms: int


@dataclass(slots=True, kw_only=True)
class Candidate:
    """`backoff_until_ms`: the election is lost, the next starts then (releases without pre-vote)."""

    epoch: int
    election: EpochElection
    election_deadline_ms: int
    tries: int = 1
    backoff_until_ms: int | None = None


@dataclass(slots=True, kw_only=True)
class Resigned:
    """`successors`: voters, the most caught up first. `unacknowledged`: node ids of voters yet to acknowledge."""

    epoch: int
    successors: "tuple[ReplicaKey, ...]" = ()
    unacknowledged: set[int] = field(default_factory=set)
    election_deadline_ms: int


State = Unattached | Follower | Prospective | Candidate | Leader | Resigned
