"""The replica's state in the quorum, and its transitions (Kafka's QuorumState)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.schema import ZERO_UUID
from falkirk.raft.facts import RaftFact
from falkirk.raft.leader_state import Leader
from falkirk.raft.output import ElectionState, LeaderAndEpoch
from falkirk.raft.states import Candidate, EpochElection, Follower, Prospective, Resigned, State, Unattached
from falkirk.raft.voter_set import KRaftVersionRange, ReplicaKey, VoterNode, VoterSet, listener_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.raft.config import RaftConfig
    from falkirk.raft.raft_log import RaftLog

EPOCH_MAX: Final = (1 << 31) - 2
"""The highest epoch that a replica begins or follows. Kafka's epochs have 32 bits, and wrap: no epoch follows the last.
"""
CHECK_QUORUM_FACTOR = 1.5
"""A leader waits this many fetch timeouts for a majority to fetch."""


class Quorum:
    """Holds one state at a time. `on_change` gets the former state and the time, once the new state is in place."""

    def __init__(self, config: RaftConfig, log: RaftLog, random: Chance, facts: list[RaftFact]) -> None:
        self.config = config
        self.own_key = ReplicaKey(config.node_id, config.directory_id)
        self.own_listeners = {listener_name(name): endpoint for name, endpoint in config.listeners.items()}
        self.listener = next(iter(self.own_listeners), "CONTROLLER")
        self.on_change: Callable[[State, int], None] = lambda _left, _now_ms: None
        self._log = log
        self._random = random
        self._facts = facts
        self.state: State = Unattached(epoch=0, election_deadline_ms=None)
        self._leader_state: State = self.state
        self._leader = self._leader_and_epoch()

    def start(self, election_state: ElectionState, now_ms: int) -> None:
        """Restore the state from what is on disk."""
        self.state = self._first_state(election_state, now_ms)

    @property
    def epoch(self) -> int:
        """The highest epoch seen."""
        return self.state.epoch

    @property
    def has_next_epoch(self) -> bool:
        """False if no election can follow."""
        return self.epoch < EPOCH_MAX

    @property
    def voters(self) -> VoterSet:
        """The voters in force."""
        return self._log.history.voters

    @property
    def is_voter(self) -> bool:
        """True if this replica, with this disk, is a voter."""
        return self.config.is_controller and self.voters.is_voter(self.own_key)

    @property
    def own_node(self) -> VoterNode:
        """What the log should have about this voter."""
        versions = KRaftVersionRange(0, self.config.kraft_version_max)
        return VoterNode(key=self.own_key, listeners=self.own_listeners, kraft_versions=versions)

    @property
    def leader_id(self) -> int | None:
        """The leader of this epoch in responses; a leader that has resigned still names itself."""
        match self.state:
            case Leader() | Resigned():
                return self.own_key.node_id
            case Candidate():
                return None
            case state:
                return state.leader_id

    @property
    def leader_listeners(self) -> Mapping[str, Endpoint]:
        """That leader's endpoints; empty if unknown."""
        match self.state:
            case Leader() | Resigned():
                return self.own_listeners
            case Follower(listeners=listeners) | Prospective(listeners=listeners):
                return listeners
            case _:
                return {}

    @property
    def leader_endpoint(self) -> Endpoint | None:
        """That leader's endpoint for the quorum."""
        return self.leader_listeners.get(self.listener)

    @property
    def leader_and_epoch(self) -> LeaderAndEpoch:
        """The leader as the node sees it; None once the leader has resigned."""
        # Read with each request; a state keeps its leader as long as it lasts.
        if self._leader_state is not self.state:
            self._leader_state, self._leader = self.state, self._leader_and_epoch()
        return self._leader

    def _leader_and_epoch(self) -> LeaderAndEpoch:
        match self.state:
            case Leader(epoch=epoch, epoch_start_offset=start):
                return LeaderAndEpoch(leader_id=self.own_key.node_id, epoch=epoch, epoch_start_offset=start)
            case state:
                return LeaderAndEpoch(leader_id=self.leader_id if self.has_remote_leader else None, epoch=state.epoch)

    @property
    def marks(self) -> tuple[object, ...]:
        """Objects whose identity changes whenever `election_state` or `leader_and_epoch` may change."""
        history = self._log.history
        return self.state, getattr(self.state, "voted", None), history.voters, history.kraft_version

    @property
    def election_state(self) -> ElectionState:
        """What must be on disk."""
        state = self.state
        leader_id, voted = self.leader_id, None
        match state:
            case Candidate():
                voted = self.own_key
            case Unattached() | Follower() | Prospective():
                voted = state.voted
        kraft_version = self._log.history.kraft_version
        return ElectionState(
            epoch=state.epoch,
            leader_id=leader_id,
            voted_id=None if voted is None else voted.node_id,
            # At kraft.version 0 the file has no field for it.
            voted_directory_id=ZERO_UUID if voted is None or kraft_version == 0 else voted.directory_id,
            kraft_version=kraft_version,
            voters=self.voters.ids if kraft_version == 0 else (),
        )

    @property
    def is_leader(self) -> bool:
        """True if this replica leads."""
        return isinstance(self.state, Leader)

    @property
    def has_remote_leader(self) -> bool:
        """True if another replica is known to lead."""
        leader_id = self.leader_id
        return leader_id is not None and leader_id != self.own_key.node_id

    def become_unattached(self, epoch: int, now_ms: int, *, leader_id: int | None = None) -> None:
        """Go on without a leader; a running election timeout goes on, too."""
        assert epoch > self.epoch or (epoch == self.epoch and isinstance(self.state, Prospective))
        state = self.state
        match state:
            case _ if not self.is_voter:
                deadline = None
            case Prospective(election=election) if election.is_rejected:
                deadline = self.election_deadline(now_ms)
            case Candidate() | Prospective() | Resigned():
                deadline = state.election_deadline_ms
            case Unattached(election_deadline_ms=int() as known):
                deadline = known
            case _:
                deadline = self.election_deadline(now_ms)
        voted = state.voted if isinstance(state, Prospective) and epoch == state.epoch else None
        self._become(Unattached(epoch=epoch, leader_id=leader_id, voted=voted, election_deadline_ms=deadline), now_ms)

    def vote_for(self, key: ReplicaKey, now_ms: int) -> None:
        """Grant the vote of this epoch; the election timeout restarts, because the candidate may well win."""
        state = self.state
        assert isinstance(state, Unattached | Prospective)
        assert state.voted is None
        assert key.node_id != self.own_key.node_id
        state.voted = key
        state.election_deadline_ms = self.election_deadline(now_ms)
        self._add_fact("info", "vote-granted", epoch=state.epoch, candidate=str(key))

    def become_follower(self, epoch: int, leader_id: int, listeners: Mapping[str, Endpoint], now_ms: int) -> None:
        """Follow a leader with known endpoints."""
        assert listeners
        assert leader_id != self.own_key.node_id
        state = self.state
        assert epoch > state.epoch or (epoch == state.epoch and not isinstance(state, Leader))
        voted = None
        if epoch == state.epoch:
            match state:
                case Unattached() | Prospective() | Follower():
                    voted = state.voted
                case Candidate():
                    voted = self.own_key
        timeout = self.config.fetch_timeout_ms
        self._become(
            Follower(
                epoch=epoch,
                leader_id=leader_id,
                listeners=dict(listeners),
                voted=voted,
                fetch_deadline_ms=now_ms + timeout,
                update_voters_at_ms=now_ms + timeout,
            ),
            now_ms,
        )

    def become_prospective(self, now_ms: int) -> None:
        """Start a pre-vote; the epoch stays."""
        assert self.is_voter
        state = self.state
        assert not isinstance(state, Leader | Prospective)
        voted = self.own_key if isinstance(state, Candidate) else None
        if isinstance(state, Unattached | Follower):
            voted = state.voted
        self._become(
            Prospective(
                epoch=state.epoch,
                leader_id=self.leader_id,
                listeners=self.leader_listeners,
                voted=voted,
                election=EpochElection(self.voters, self.own_key.node_id),
                election_deadline_ms=self.election_deadline(now_ms),
            ),
            now_ms,
        )

    def become_candidate(self, now_ms: int) -> None:
        """Start an election in the next epoch, with our own vote."""
        assert self.is_voter
        state = self.state
        assert not isinstance(state, Leader)
        self._become(
            Candidate(
                epoch=state.epoch + 1,
                election=EpochElection(self.voters, self.own_key.node_id),
                election_deadline_ms=self.election_deadline(now_ms),
                tries=state.tries + 1 if isinstance(state, Candidate) else 1,
            ),
            now_ms,
        )

    def become_leader(self, now_ms: int) -> Leader:
        """Lead the epoch of the election that was won."""
        state = self.state
        assert isinstance(state, Candidate)
        assert state.election.is_granted
        leader = Leader(
            own_key=self.own_key,
            epoch=state.epoch,
            epoch_start_offset=self._log.end_offset,
            granting=state.election.granting,
            check_quorum_deadline_ms=now_ms + self.check_quorum_timeout_ms,
            begin_epoch_at_ms=now_ms,
        )
        leader.set_voters(self.voters, leader.check_quorum_deadline_ms)
        self._become(leader, now_ms)
        return leader

    def become_resigned(self, now_ms: int) -> None:
        """Stop leading, for good in this epoch."""
        state = self.state
        assert isinstance(state, Leader)
        own_id = self.own_key.node_id
        self._become(
            Resigned(
                epoch=state.epoch,
                successors=state.successors(),
                unacknowledged={node_id for node_id in self.voters.ids if node_id != own_id},
                election_deadline_ms=self.election_deadline(now_ms),
            ),
            now_ms,
        )

    @property
    def check_quorum_timeout_ms(self) -> int:
        """How long a leader leads without a majority that fetches."""
        return int(self.config.fetch_timeout_ms * CHECK_QUORUM_FACTOR)

    def _first_state(self, stored: ElectionState, now_ms: int) -> State:
        epoch = stored.epoch
        deadline = self.election_deadline(now_ms) if self.is_voter else None
        if epoch < self._log.last_epoch:
            return Unattached(epoch=self._log.last_epoch, election_deadline_ms=deadline)
        voted = None if stored.voted_id is None else ReplicaKey(stored.voted_id, stored.voted_directory_id)
        if stored.leader_id == self.own_key.node_id:
            # It must neither vote in this epoch nor give the offsets of lost records to new ones.
            others = {node_id for node_id in self.voters.ids if node_id != self.own_key.node_id}
            return Resigned(epoch=epoch, unacknowledged=others, election_deadline_ms=self.election_deadline(now_ms))
        if stored.leader_id is None:
            if self.is_voter and voted is not None and VoterNode(key=voted).is_voter(self.own_key):
                return Candidate(
                    epoch=epoch,
                    election=EpochElection(self.voters, self.own_key.node_id),
                    election_deadline_ms=self.election_deadline(now_ms),
                )
            return Unattached(epoch=epoch, voted=voted, election_deadline_ms=deadline)
        node = self.voters.nodes.get(stored.leader_id)
        if node is None or not node.listeners:
            return Unattached(epoch=epoch, leader_id=stored.leader_id, voted=voted, election_deadline_ms=deadline)
        timeout = self.config.fetch_timeout_ms
        return Follower(
            epoch=epoch,
            leader_id=stored.leader_id,
            listeners=node.listeners,
            voted=voted,
            fetch_deadline_ms=now_ms + timeout,
            update_voters_at_ms=now_ms + timeout,
        )

    def _become(self, state: State, now_ms: int) -> None:
        left = self.state
        self.state = state
        self._add_fact(
            "info",
            "raft-state",
            state=type(state).__name__.lower(),
            epoch=state.epoch,
            leader=self.leader_id,
            left=type(left).__name__.lower(),
        )
        self.on_change(left, now_ms)

    def _add_fact(self, level: str, event: str, **fields: object) -> None:
        self._facts.append(RaftFact(level=level, event=event, fields=fields))

    def election_deadline(self, now_ms: int) -> int:
        """Return when an election timeout that begins now ends: after one to two times the configured one."""
        timeout = self.config.election_timeout_ms
        return now_ms + timeout + (self._random.randrange(0, timeout) if timeout else 0)
