"""Elections: votes, pre-votes, and the announcements of leaders that begin and resign (KIP-595, KIP-853, KIP-996)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from falkirk.protocol.messages.end_quorum_epoch_response import EndQuorumEpochResponse
from falkirk.protocol.messages.vote_response import VoteResponse
from falkirk.protocol.schema import ZERO_UUID
from falkirk.raft import election_messages
from falkirk.raft.context import PARTITION, TOPIC
from falkirk.raft.leader_discovery import Outcome, handle_common, known_listeners, learn_leader
from falkirk.raft.leader_state import Leader
from falkirk.raft.quorum import EPOCH_MAX
from falkirk.raft.request_manager import Destination
from falkirk.raft.states import Candidate, Follower, Prospective, Resigned, Unattached
from falkirk.raft.voter_set import ReplicaKey, listener_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from falkirk.protocol.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
    from falkirk.protocol.messages.end_quorum_epoch_request import EndQuorumEpochRequest
    from falkirk.protocol.messages.end_quorum_epoch_request import PartitionData as EndPartition
    from falkirk.protocol.messages.vote_request import PartitionData as VotePartition
    from falkirk.protocol.messages.vote_request import VoteRequest
    from falkirk.raft.context import RaftContext


_BACKOFF_BASE_MS: Final = 100
DEFERRALS_MAX: Final = 3
"""Timeouts in a row at which a voter that is not ready to lead leaves the election to others."""


class _Listener(Protocol):
    name: str
    host: str
    port: int


class _Partition(Protocol):
    partition_index: int


class _Topic(Protocol):
    topic_name: str

    @property
    def partitions(self) -> Sequence[_Partition]: ...


class Elections:
    """Sends and handles the requests of elections, and keeps their timeouts."""

    def __init__(self, context: RaftContext) -> None:
        self._context = context
        self._quorum = context.quorum
        self._deferrals = 0

    def receive_vote(self, token: int, request: VoteRequest, api_version: int, now_ms: int) -> None:
        """Grant or reject a vote, or a pre-vote, which leaves the voter's state as it is."""
        refused = self._request_error(request.cluster_id, request.topics)
        if refused is not None:
            self._context.reply(token, VoteResponse(error_code=refused))
            return
        partition = request.topics[0].partitions[0]
        error, is_granted = self._decide_vote(request.voter_id, partition, now_ms)
        answer = election_messages.vote_answer(self._context, api_version, error, is_granted=is_granted)
        self._context.reply(token, answer)

    def receive_begin_quorum_epoch(
        self, token: int, request: BeginQuorumEpochRequest, api_version: int, now_ms: int
    ) -> None:
        """Follow the leader that announces itself."""
        refused = self._request_error(request.cluster_id, request.topics)
        if refused is not None:
            self._context.reply(token, BeginQuorumEpochResponse(error_code=refused))
            return
        partition = request.topics[0].partitions[0]
        error = self._voter_error(partition.leader_id, partition.leader_epoch)
        if not error:
            listeners = self._leader_listeners(partition.leader_id, request.leader_endpoints)
            learn_leader(self._context, partition.leader_id, partition.leader_epoch, listeners, now_ms)
            if not self._is_own_key(request.voter_id, partition.voter_directory_id):
                error = ErrorCode.INVALID_VOTER_KEY
        self._context.reply(token, election_messages.begin_quorum_epoch_answer(self._context, api_version, error))

    def receive_end_quorum_epoch(
        self, token: int, request: EndQuorumEpochRequest, api_version: int, now_ms: int
    ) -> None:
        """Start an election after a time that depends on the place among the resigned leader's preferred successors."""
        refused = self._request_error(request.cluster_id, request.topics)
        if refused is not None:
            self._context.reply(token, EndQuorumEpochResponse(error_code=refused))
            return
        partition = request.topics[0].partitions[0]
        error = self._voter_error(partition.leader_id, partition.leader_epoch)
        if not error:
            listeners = self._leader_listeners(partition.leader_id, request.leader_endpoints)
            learn_leader(self._context, partition.leader_id, partition.leader_epoch, listeners, now_ms)
            state = self._quorum.state
            if isinstance(state, Follower) and state.leader_id == partition.leader_id:
                backoff_ms = self._backoff_after_resignation(partition)
                state.fetch_deadline_ms = now_ms + backoff_ms
                if backoff_ms == 0 and self._context.config.succeeds_at_once and self._can_start_election:
                    # Without a pre-vote, which those that hear from the leader refuse. A candidate's newer epoch ends
                    # the leadership of any leader.
                    self._become_candidate(now_ms)
        self._context.reply(token, election_messages.end_quorum_epoch_answer(self._context, api_version, error))

    def handle_vote(self, node_id: int | None, response: VoteResponse, now_ms: int) -> Outcome:
        """Count the vote."""
        outcome = self._handle_common(response, now_ms)
        if outcome is not None:
            return outcome
        partition = response.topics[0].partitions[0]
        state = self._quorum.state
        if not isinstance(state, Prospective | Candidate) or node_id is None:
            return Outcome.DONE
        if partition.error_code:
            return Outcome.RETRY
        state.election.record(node_id, is_granted=partition.vote_granted)
        self._count_votes(now_ms)
        return Outcome.DONE

    def pre_vote_unsupported(self, now_ms: int) -> None:
        """Become a candidate without pre-vote: a voter's release cannot grant any."""
        if isinstance(self._quorum.state, Prospective):
            self._become_candidate(now_ms)

    def handle_begin_quorum_epoch(self, response: BeginQuorumEpochResponse, now_ms: int) -> Outcome:
        """Check the response for a newer epoch."""
        outcome = self._handle_common(response, now_ms)
        if outcome is not None:
            return outcome
        return Outcome.RETRY if response.topics[0].partitions[0].error_code else Outcome.DONE

    def handle_end_quorum_epoch(self, node_id: int | None, response: EndQuorumEpochResponse, now_ms: int) -> Outcome:
        """Stop sending to a voter that has acknowledged."""
        outcome = self._handle_common(response, now_ms)
        if outcome is not None:
            return outcome
        partition = response.topics[0].partitions[0]
        if partition.error_code:
            return Outcome.RETRY
        if isinstance(self._quorum.state, Resigned) and node_id is not None:
            self._quorum.state.unacknowledged.discard(node_id)
        return Outcome.DONE

    def _handle_common(
        self, response: VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse, now_ms: int
    ) -> Outcome | None:
        """Handle epoch, leader and errors; None: go on with the response's only partition."""
        if response.error_code or not _is_metadata_partition(response.topics):
            return Outcome.RETRY
        partition = response.topics[0].partitions[0]
        return handle_common(
            self._context,
            now_ms,
            error=partition.error_code,
            leader_id=partition.leader_id,
            epoch=partition.leader_epoch,
            endpoints=response.node_endpoints,
        )

    def poll_unattached(self, state: Unattached, now_ms: int) -> None:
        """Start an election when the election timeout has passed."""
        if self._can_start_election and (state.election_deadline_ms or 0) <= now_ms:
            if self._is_left_to_others():
                state.election_deadline_ms = self._quorum.election_deadline(now_ms)
            else:
                self.start_election(now_ms)

    def fetch_timed_out(self, state: Follower, now_ms: int) -> None:
        """Start an election, because the leader has not answered a fetch in time."""
        if state.has_fetched:
            self._deferrals = 0
        if self._is_left_to_others():
            # As one that has not fetched from its leader it grants pre-votes.
            self._quorum.become_follower(state.epoch, state.leader_id, state.listeners, now_ms)
        else:
            self.start_election(now_ms)

    def poll_prospective(self, state: Prospective, now_ms: int) -> None:
        """Request pre-votes until the election timeout."""
        if state.election_deadline_ms <= now_ms and not self._context.is_shutting_down:
            self._lose_pre_vote(state, now_ms)
        else:
            self._send_votes(state.election.unrecorded, now_ms, is_pre_vote=True)

    def poll_candidate(self, state: Candidate, now_ms: int) -> None:
        """Request votes; start again after the election timeout, but not while shutting down."""
        if self._context.is_shutting_down:
            self._send_votes(state.election.unrecorded, now_ms, is_pre_vote=False)
        elif state.backoff_until_ms is not None:
            if state.backoff_until_ms <= now_ms:
                self._become_candidate(now_ms)
        elif state.election_deadline_ms > now_ms:
            if not state.election.is_rejected:
                self._send_votes(state.election.unrecorded, now_ms, is_pre_vote=False)
        elif self._context.config.has_pre_vote:
            self.start_election(now_ms)
        else:
            self._back_off(state, now_ms)

    def poll_resigned(self, state: Resigned, now_ms: int) -> None:
        """Announce the resignation to the voters; after the election timeout go on in the next epoch."""
        if state.election_deadline_ms <= now_ms and not self._context.is_shutting_down:
            if self._quorum.has_next_epoch:
                self._quorum.become_unattached(state.epoch + 1, now_ms)
                return
            self._wait_in_last_epoch(now_ms)
        for node_id in sorted(state.unacknowledged):
            to = self._context.voter_destination(node_id)
            if to is not None and self._context.requests.is_ready(to, now_ms):
                message = election_messages.end_quorum_epoch(self._context, state.successors)
                self._context.requests.send(to, message, now_ms)

    def poll_leader(self, leader: Leader, now_ms: int) -> None:
        """Announce the leader to voters, and to registered controllers, that have not fetched lately."""
        if leader.begin_epoch_at_ms > now_ms:
            return
        interval = self._context.config.fetch_timeout_ms // 2
        leader.begin_epoch_at_ms = now_ms + interval
        for key, to in self._announced_to(leader):
            if self._context.requests.is_ready(to, now_ms) and leader.pop_due_announcement(
                key.node_id, now_ms, interval
            ):
                self._context.requests.send(to, election_messages.begin_quorum_epoch(self._context, key), now_ms)

    def start_election(self, now_ms: int) -> None:
        """Start an election, in releases that have it with a pre-vote."""
        if not (self._context.config.has_pre_vote and self._quorum.has_next_epoch):
            self._become_candidate(now_ms)
            return
        self._quorum.become_prospective(now_ms)
        self._count_votes(now_ms)

    def count_own_vote(self, now_ms: int) -> None:
        """Win at once if our own vote is the majority."""
        self._count_votes(now_ms)

    def _is_left_to_others(self) -> bool:
        """Return whether to wait once more for a voter that could serve at once; a sole voter does not wait."""
        quorum = self._quorum
        is_alone = quorum.voters.is_only_voter(quorum.own_key)
        if is_alone or self._deferrals == DEFERRALS_MAX or self._context.is_ready_to_lead():
            self._deferrals = 0
            return False
        self._deferrals += 1
        self._context.add_fact("info", "election-deferred", epoch=quorum.epoch, deferrals=self._deferrals)
        return True

    @property
    def _can_start_election(self) -> bool:
        return self._quorum.is_voter and not self._context.is_shutting_down

    def _announced_to(self, leader: Leader) -> Iterator[tuple[ReplicaKey, Destination]]:
        """Yield the replicas that must learn who leads, with where they listen.

        Differs from Kafka, which announces itself to voters only: controllers that do not vote find a leader then only
        if it is one of their bootstrap servers. At kraft.version 0 all know the voters.
        """
        own_id = leader.own_key.node_id
        for node_id, progress in sorted(leader.voters.items()):
            to = self._context.voter_destination(node_id)
            if node_id != own_id and to is not None:
                yield progress.key, to
        if self._context.log.history.kraft_version < 1:
            return
        for node_id, endpoint in sorted(self._context.registered_controllers.items()):
            if node_id != own_id and node_id not in leader.voters:
                yield ReplicaKey(node_id), Destination(node_id, endpoint)

    def _become_candidate(self, now_ms: int) -> None:
        if not self._quorum.has_next_epoch:
            self._wait_in_last_epoch(now_ms)
            return
        self._quorum.become_candidate(now_ms)
        self._count_votes(now_ms)

    def _wait_in_last_epoch(self, now_ms: int) -> None:
        """Wait for another timeout. Differs from Kafka, whose epoch becomes negative; it finds no leader either."""
        self._context.add_fact("error", "raft-epochs-used-up", epoch=self._quorum.epoch)
        state, deadline_ms = self._quorum.state, self._quorum.election_deadline(now_ms)
        match state:
            case Follower():
                state.fetch_deadline_ms = deadline_ms
            case Candidate():
                state.election_deadline_ms, state.backoff_until_ms = deadline_ms, None
            case Unattached() | Resigned():
                state.election_deadline_ms = deadline_ms

    def _count_votes(self, now_ms: int) -> None:
        state = self._quorum.state
        if isinstance(state, Prospective):
            if state.election.is_granted:
                self._become_candidate(now_ms)
            elif state.election.is_rejected:
                self._lose_pre_vote(state, now_ms)
        elif isinstance(state, Candidate):
            if state.election.is_granted:
                self._quorum.become_leader(now_ms)
            elif state.election.is_rejected and not self._context.config.has_pre_vote:
                self._back_off(state, now_ms)

    def _lose_pre_vote(self, state: Prospective, now_ms: int) -> None:
        if state.leader_id is not None and state.listeners and state.leader_id != self._quorum.own_key.node_id:
            self._quorum.become_follower(state.epoch, state.leader_id, state.listeners, now_ms)
        else:
            self._quorum.become_unattached(state.epoch, now_ms, leader_id=state.leader_id)

    def _back_off(self, state: Candidate, now_ms: int) -> None:
        # Doubling and random, so that two candidates do not split the votes for ever.
        if state.backoff_until_ms is None:
            factor = self._context.random.randrange(0, 2 << min(20, state.tries - 1))
            wait = min(_BACKOFF_BASE_MS * factor, self._context.config.election_backoff_max_ms)
            state.backoff_until_ms = now_ms + wait

    def _send_votes(self, voters: Sequence[ReplicaKey], now_ms: int, *, is_pre_vote: bool) -> None:
        for voter in voters:
            to = self._context.voter_destination(voter.node_id)
            if to is not None and self._context.requests.is_ready(to, now_ms):
                message = election_messages.vote(self._context, voter, is_pre_vote=is_pre_vote)
                self._context.requests.send(to, message, now_ms)

    def _decide_vote(self, voter_id: int, request: VotePartition, now_ms: int) -> tuple[ErrorCode, bool]:
        last_epoch_max = request.replica_epoch if request.pre_vote else request.replica_epoch - 1
        if request.last_offset < 0 or not 0 <= request.last_offset_epoch <= last_epoch_max:
            return ErrorCode.INVALID_REQUEST, False
        error = self._voter_error(request.replica_id, request.replica_epoch)
        if error:
            return error, False
        if request.replica_epoch > self._quorum.epoch:
            self._quorum.become_unattached(request.replica_epoch, now_ms)
        if not self._is_own_key(voter_id, request.voter_directory_id):
            # For another disk of this node, whose votes are not known.
            return ErrorCode.INVALID_VOTER_KEY, False
        key = ReplicaKey(request.replica_id, request.replica_directory_id)
        end = self._context.log.end
        is_up_to_date = (request.last_offset_epoch, request.last_offset) >= (end.epoch, end.offset)
        is_granted = self._can_grant(key, now_ms, is_up_to_date=is_up_to_date, is_pre_vote=request.pre_vote)
        state = self._quorum.state
        if is_granted and not request.pre_vote and isinstance(state, Unattached | Prospective) and state.voted is None:
            self._quorum.vote_for(key, now_ms)
        return ErrorCode.NONE, is_granted

    def _can_grant(self, key: ReplicaKey, now_ms: int, *, is_up_to_date: bool, is_pre_vote: bool) -> bool:
        state = self._quorum.state
        if is_pre_vote:
            # A replica that hears from its leader keeps to it: one that was cut off must not unseat the leader.
            # An observer stays a follower when its leader is gone; a voter to be, whose vote is needed, is one.
            hears = isinstance(state, Follower) and state.has_fetched and now_ms < state.fetch_deadline_ms
            return is_up_to_date and not (hears or isinstance(state, Leader))
        if not isinstance(state, Unattached | Prospective) or key.node_id == self._quorum.own_key.node_id:
            return False
        if state.voted is not None:
            is_same_disk = state.voted.directory_id in (ZERO_UUID, key.directory_id)
            return state.voted.node_id == key.node_id and is_same_disk
        return state.leader_id is None and is_up_to_date

    def _request_error(self, cluster_id: str | None, topics: Sequence[_Topic]) -> ErrorCode | None:
        if self._context.is_foreign(cluster_id):
            return ErrorCode.INCONSISTENT_CLUSTER_ID
        return None if _is_metadata_partition(topics) else ErrorCode.INVALID_REQUEST

    def _voter_error(self, remote_id: int, epoch: int) -> ErrorCode:
        if epoch < self._quorum.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        is_beyond = epoch > max(self._quorum.epoch, EPOCH_MAX)
        return ErrorCode.INVALID_REQUEST if remote_id < 0 or is_beyond else ErrorCode.NONE

    def _is_own_key(self, voter_id: int, directory_id: bytes) -> bool:
        # Version 0 names no voter.
        if voter_id < 0:
            return True
        own = self._quorum.own_key
        return voter_id == own.node_id and directory_id in (ZERO_UUID, own.directory_id)

    def _leader_listeners(self, leader_id: int, endpoints: Iterable[_Listener]) -> Mapping[str, Endpoint]:
        listeners = {listener_name(each.name): Endpoint(each.host, each.port) for each in endpoints}
        return listeners or known_listeners(self._context, leader_id, ())

    def _backoff_after_resignation(self, partition: EndPartition) -> int:
        own = self._quorum.own_key
        keys = [ReplicaKey(each.candidate_id, each.candidate_directory_id) for each in partition.preferred_candidates]
        keys = keys or [ReplicaKey(node_id) for node_id in partition.preferred_successors]
        position = next(
            (
                index
                for index, key in enumerate(keys)
                if key.node_id == own.node_id and key.directory_id in (ZERO_UUID, own.directory_id)
            ),
            len(keys),
        )
        longest = self._context.config.election_backoff_max_ms
        if position == 0:
            return 0
        if position >= len(keys):
            return longest
        return min(longest, (longest >> (len(keys) - 1)) << (position - 1))


def _is_metadata_partition(topics: Sequence[_Topic]) -> bool:
    if len(topics) != 1 or topics[0].topic_name != TOPIC:
        return False
    partitions = topics[0].partitions
    return len(partitions) == 1 and partitions[0].partition_index == PARTITION
