"""One replica of the metadata log as a step function: requests, responses and time in, work for the driver out."""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, assert_never

from falkirk.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from falkirk.protocol.messages.api_versions_request import ApiVersionsRequest
from falkirk.protocol.messages.api_versions_response import ApiVersionsResponse
from falkirk.protocol.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from falkirk.protocol.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from falkirk.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from falkirk.protocol.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from falkirk.protocol.messages.end_quorum_epoch_response import EndQuorumEpochResponse
from falkirk.protocol.messages.fetch_request import FetchRequest
from falkirk.protocol.messages.fetch_response import FetchResponse
from falkirk.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from falkirk.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from falkirk.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from falkirk.protocol.messages.update_raft_voter_request import UpdateRaftVoterRequest
from falkirk.protocol.messages.update_raft_voter_response import UpdateRaftVoterResponse
from falkirk.protocol.messages.vote_request import VoteRequest
from falkirk.protocol.messages.vote_response import VoteResponse
from falkirk.raft.context import RaftContext
from falkirk.raft.describe_quorum import describe_quorum
from falkirk.raft.elections import Elections
from falkirk.raft.leader_discovery import Outcome
from falkirk.raft.leader_state import Leader
from falkirk.raft.output import (
    ElectionState,
    InstallSnapshot,
    LeaderAndEpoch,
    OutboundReply,
    OutboundRequest,
    RaftOutput,
)
from falkirk.raft.quorum import Quorum
from falkirk.raft.raft_log import RaftLog
from falkirk.raft.replication_follower import ReplicationFollower
from falkirk.raft.replication_leader import ReplicationLeader
from falkirk.raft.request_manager import RequestManager
from falkirk.raft.snapshot_fetch import SnapshotFetch
from falkirk.raft.states import Candidate, Follower, Prospective, Resigned, State, Unattached
from falkirk.raft.voter_changes import VoterChanges
from falkirk.raft.voter_set import VoterNode, VoterSet, listener_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.messages import VotersRecord
    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
    from falkirk.protocol.schema import WireMessage
    from falkirk.raft.config import RaftConfig
    from falkirk.raft.facts import RaftFact
    from falkirk.raft.replicated_log import ReplicatedLog
    from falkirk.raft.request_manager import SentRequest

_STEPS_MAX = 8
"""A generous limit of state changes at one moment; more would be a loop."""


class RaftReplica:
    """Votes, leads, follows or observes, as Kafka's KafkaRaftClient does.

    After any input the driver calls `pop_output`, writes, calls `persisted`, sends, applies, and repeats until the
    output is empty; further inputs may come in between, and several before the output is popped.
    """

    def __init__(
        self,
        config: RaftConfig,
        election_state: ElectionState,
        log: ReplicatedLog,
        random: Chance,
        now_ms: int,
        *,
        is_ready_to_lead: Callable[[], bool] = lambda: True,
    ) -> None:
        """Start from what is on disk.

        While `is_ready_to_lead` is false, elections are left to other voters, unless those elect nobody.
        """
        static = VoterSet()
        if config.static_voters:
            listener = listener_name(next(iter(config.listeners), "CONTROLLER"))
            static = VoterSet.of_static(config.static_voters, listener)
        facts: list[RaftFact] = []
        self._log = RaftLog(log, static)
        self._quorum = Quorum(config, self._log, random, facts)
        self._requests = RequestManager(config)
        self._context = RaftContext(
            config=config,
            random=random,
            log=self._log,
            quorum=self._quorum,
            requests=self._requests,
            facts=facts,
            is_ready_to_lead=is_ready_to_lead,
        )
        self._elections = Elections(self._context)
        self._snapshots = SnapshotFetch(self._context)
        self._replication = ReplicationLeader(self._context)
        self._following = ReplicationFollower(self._context, self._snapshots)
        self._voter_changes = VoterChanges(self._context, self._replication)
        self._replication.on_high_watermark = self._voter_changes.high_watermark_moved
        self._quorum.on_change = self._state_changed
        self._stored = election_state
        self._marks: tuple[object, ...] = (None, None, None, None)
        self._last_leader = LeaderAndEpoch(leader_id=None, epoch=-1)
        self._last_high_watermark: int | None = None
        self._now_ms = now_ms
        self._start(election_state, now_ms)

    # Inputs.

    def receive_request(self, token: int, request: WireMessage, api_version: int, now_ms: int) -> None:
        """Handle a request of the quorum. An OutboundReply with `token` answers it, at once or later."""
        match request:
            case FetchRequest():
                self._replication.receive_fetch(token, request, api_version, now_ms)
            case VoteRequest():
                self._elections.receive_vote(token, request, api_version, now_ms)
            case BeginQuorumEpochRequest():
                self._elections.receive_begin_quorum_epoch(token, request, api_version, now_ms)
            case EndQuorumEpochRequest():
                self._elections.receive_end_quorum_epoch(token, request, api_version, now_ms)
            case FetchSnapshotRequest():
                self._snapshots.receive(token, request, api_version, now_ms)
            case DescribeQuorumRequest():
                self._context.reply(token, describe_quorum(self._context, request, api_version, now_ms))
            case AddRaftVoterRequest():
                self._voter_changes.receive_add(token, request, now_ms)
            case RemoveRaftVoterRequest():
                self._voter_changes.receive_remove(token, request, now_ms)
            case UpdateRaftVoterRequest():
                self._voter_changes.receive_update(token, request, now_ms)
            case _:
                raise AssertionError(f"{type(request).__name__} is no request of the quorum")
        self._poll(now_ms)

    def receive_response(self, request_id: int, response: WireMessage, now_ms: int) -> None:
        """Handle the response to an OutboundRequest; one that is no longer expected is ignored."""
        sent = self._requests.pop_sent(request_id)
        if sent is not None:
            outcome = self._handle(sent, response, now_ms)
            self._requests.finished(request_id, sent.destination, now_ms, is_success=outcome is Outcome.DONE)
            self._poll(now_ms)

    def request_failed(self, request_id: int, now_ms: int, *, is_unsupported_version: bool = False) -> None:
        """Handle a request without a response or, `is_unsupported_version`, that the other node does not support."""
        sent = self._requests.pop_sent(request_id)
        if sent is None:
            return
        self._requests.finished(request_id, sent.destination, now_ms, is_success=False)
        if isinstance(sent.message, ApiVersionsRequest):
            self._voter_changes.api_versions_failed(sent.destination.node_id)
        elif is_unsupported_version and _is_pre_vote(sent.message):
            self._elections.pre_vote_unsupported(now_ms)
        self._poll(now_ms)

    def tick(self, now_ms: int) -> None:
        """Do what is due; to be called at `next_wakeup_ms`, harmless at any other time."""
        self._replication.answer_expired(now_ms)
        self._poll(now_ms)

    def connection_lost(self, token: int) -> None:
        """Drop a waiting request whose connection is gone; a reply that is under way may still be sent."""
        self._replication.forget(token)
        self._voter_changes.forget(token)

    def append(self, values: Sequence[bytes], now_ms: int) -> int:
        """Append data records as one batch; return the offset of the first.

        They are committed once the high watermark is above them, and may be lost if the replica stops leading before.
        Raises NotLeaderError, and BatchTooLargeError if they take more than 8 MiB; then nothing is appended.
        """
        return self._replication.append(values, now_ms)

    @property
    def kraft_version_refusal(self) -> str | None:
        """Why kraft.version cannot be raised to the release's highest level here, in Kafka's words; None if it can."""
        return self._voter_changes.upgrade_refusal()

    def raise_kraft_version(self, now_ms: int) -> None:
        """Append the release's highest kraft.version, and the voters, which are static so far.

        `kraft_version_refusal` must be None. The change is committed with the high watermark at `end_offset`.
        """
        self._voter_changes.raise_kraft_version(now_ms)

    def voters_raised(self) -> tuple[int, VotersRecord]:
        """Return the kraft.version and the voters that `raise_kraft_version` would append, one record each."""
        return self._context.config.kraft_version_max, self._voter_changes.known_voters.record()

    def offer_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        """Offer a snapshot, of what may not be committed yet, to voters that are held back before a lowering.

        They count for the commit once they have it, and cannot lose it. It must end in the log on disk, in this epoch;
        the driver deletes it when the leadership ends or the node restarts, unless it is committed, and keeps the log
        before it until it is. Raises SnapshotOfferRefusedError with the reason.
        """
        self._replication.offer_snapshot(snapshot)

    def offer_refusal(self, snapshot: OffsetAndEpoch) -> str | None:
        """Return why `offer_snapshot` would refuse a snapshot; None if it would not."""
        return self._replication.offer_refusal(snapshot)

    def resign(self, now_ms: int) -> None:
        """Stop leading, and tell the other voters, which elect a new leader. Does nothing unless the replica leads."""
        if self._quorum.is_leader:
            self._quorum.become_resigned(now_ms)
            self._poll(now_ms)

    def shutdown(self, now_ms: int) -> None:
        """Resign, and take part in no more elections; wait for `is_shut_down`, with a limit."""
        self._context.is_shutting_down = True
        self.resign(now_ms)
        self._poll(now_ms)

    def set_registered_controllers(self, endpoints: Mapping[int, Endpoint]) -> None:
        """Replace the endpoints, by node id, of the controllers to which this replica announces itself when it leads.

        At kraft.version 1 those that do not vote look for the leader at their bootstrap servers alone, which may not
        have it.
        """
        self._context.registered_controllers = endpoints

    def snapshot_created(self, snapshot: OffsetAndEpoch) -> None:
        """Record that the node has written its own snapshot; the log's start may have moved."""
        self._log.history.forget_before(min(snapshot.offset, self._log.reader.start_offset))
        if self._quorum.is_leader:
            self._replication.answer_waiting()

    def snapshot_refused(self, snapshot: OffsetAndEpoch) -> None:
        """Record that a fetched snapshot is invalid; called in place of installing it, before `persisted`."""
        self._log.refuse_snapshot(snapshot)
        self._context.add_fact("error", "raft-snapshot-refused", offset=snapshot.offset, epoch=snapshot.epoch)

    # Output.

    def pop_output(self) -> RaftOutput:
        """Remove and return the work to do."""
        election_state, leader = self._pop_quorum_changes()
        high_watermark = self._log.high_watermark
        is_new_high_watermark = high_watermark != self._last_high_watermark
        self._last_high_watermark = high_watermark
        log_changes = self._log.pop_changes()
        installed = [each.snapshot for each in log_changes if isinstance(each, InstallSnapshot)]
        messages: list[OutboundRequest | OutboundReply] = [*self._context.replies, *self._requests.pop_outbound()]
        self._context.replies.clear()
        return RaftOutput(
            election_state=election_state,
            log_changes=log_changes,
            may_send_first=election_state is None and self._replication.has_awaited(log_changes),
            messages=tuple(messages),
            leader=leader,
            high_watermark=high_watermark if is_new_high_watermark else None,
            installed_snapshot=installed[0] if installed else None,
        )

    def written(self) -> None:
        """Record that what the last output appends can be read, though it is not on disk yet (`may_send_first`)."""
        self._replication.answer_waiting()

    def persisted(self, now_ms: int) -> None:
        """Record that everything in the last output is on disk."""
        was_rewinding = self._log.is_rewinding
        installed = self._log.persisted()
        if installed is not None:
            self._context.add_fact("info", "raft-snapshot-installed", offset=installed.offset, epoch=installed.epoch)
        leader = self._quorum.state
        if isinstance(leader, Leader):
            self._replication.persisted(leader, now_ms)
        if was_rewinding or self._quorum.state is not leader:
            self._poll(now_ms)

    def pop_facts(self) -> tuple[RaftFact, ...]:
        """Remove and return the events for the node's log."""
        facts = tuple(self._context.facts)
        self._context.facts.clear()
        return facts

    @property
    def next_wakeup_ms(self) -> int | None:
        """When to call `tick` next, unless another input comes before; None: never."""
        now_ms = self._now_ms
        return min((time for time in self._deadlines() if time is not None and time > now_ms), default=None)

    # Views.

    @property
    def leader(self) -> LeaderAndEpoch:
        """The leader as far as the replica knows."""
        return self._quorum.leader_and_epoch

    @property
    def leader_endpoint(self) -> Endpoint | None:
        """The leader's endpoint, that of this replica if it leads; None if unknown."""
        return None if self.leader.leader_id is None else self._quorum.leader_endpoint

    @property
    def is_leader(self) -> bool:
        """True if this replica leads."""
        return self._quorum.is_leader

    @property
    def is_voter(self) -> bool:
        """True if this replica, with this disk, is a voter."""
        return self._quorum.is_voter

    @property
    def epoch(self) -> int:
        """The highest epoch seen."""
        return self._quorum.epoch

    @property
    def high_watermark(self) -> int | None:
        """Everything below is committed; None: nothing is known to be. It never falls."""
        return self._log.high_watermark

    @property
    def end_offset(self) -> int:
        """The end of the log once everything is on disk."""
        return self._log.end_offset

    @property
    def voters(self) -> Mapping[int, VoterNode]:
        """The voters in force, committed or not, by node id."""
        return self._quorum.voters.nodes

    @property
    def kraft_version(self) -> int:
        """The level of kraft.version in force."""
        return self._log.history.kraft_version

    @property
    def held_back_end(self) -> int | None:
        """The highest end offset of replicas beyond a lowering before which they should be held back, or None.

        Only a snapshot that ends behind that offset takes them past it: no follower accepts one that ends where its log
        does.
        """
        return self._replication.held_back_end

    def lowering_support(self, now_ms: int) -> Mapping[int, bool]:
        """Return, by node id, whether the other voters can apply a record that lowers metadata.version.

        A voter says so in each fetch. Those that have not fetched within the check-quorum timeout are left out; without
        the leadership it is empty.
        """
        leader = self._quorum.state
        if not isinstance(leader, Leader):
            return {}
        return leader.lowering_support(now_ms, self._quorum.check_quorum_timeout_ms)

    def silent_voters(self, now_ms: int, *, since_ms: int) -> frozenset[int]:
        """Return the other voters that have not fetched within the check-quorum timeout.

        None are before that time has passed since `since_ms`, when the leadership began.
        """
        if now_ms - since_ms < self._quorum.check_quorum_timeout_ms:
            return frozenset()
        return frozenset(self.voters.keys() - self.lowering_support(now_ms).keys() - {self._quorum.own_key.node_id})

    def voters_before(self, end_offset: int) -> tuple[int, VotersRecord | None]:
        """Return kraft.version and voters for a snapshot that ends at `end_offset`."""
        history = self._log.history
        voters = history.voters_before(end_offset)
        return history.kraft_version_before(end_offset), None if voters is None else voters.record()

    @property
    def is_shut_down(self) -> bool:
        """True if nothing is left to do after `shutdown`: another replica leads, or this one has no vote in it."""
        quorum = self._quorum
        is_idle = not quorum.is_voter or quorum.voters.is_only_voter(quorum.own_key) or quorum.has_remote_leader
        return self._context.is_shutting_down and is_idle

    # Inside.

    def _start(self, election_state: ElectionState, now_ms: int) -> None:
        self._quorum.start(election_state, now_ms)
        quorum = self._quorum
        if quorum.is_voter and quorum.voters.is_only_voter(quorum.own_key):
            if isinstance(quorum.state, Candidate):
                self._elections.count_own_vote(now_ms)
            else:
                self._elections.start_election(now_ms)
        self._poll(now_ms)

    def _state_changed(self, left: State, now_ms: int) -> None:
        self._requests.reset_all()
        if isinstance(left, Leader):
            self._voter_changes.stop_leading(left)
            self._replication.stop_leading()
        if isinstance(self._quorum.state, Leader):
            self._replication.begin_epoch(self._quorum.state, now_ms)

    def _pop_quorum_changes(self) -> tuple[ElectionState | None, LeaderAndEpoch | None]:
        marks = self._quorum.marks
        # Called with every request: mostly nothing has changed, which the identities show.
        if all(map(is_, marks, self._marks)):
            return None, None
        self._marks = marks
        election_state, leader = self._quorum.election_state, self._quorum.leader_and_epoch
        is_new_state, is_new_leader = election_state != self._stored, leader != self._last_leader
        self._stored, self._last_leader = election_state, leader
        return election_state if is_new_state else None, leader if is_new_leader else None

    def _handle(self, sent: SentRequest, response: WireMessage, now_ms: int) -> Outcome:
        node_id = sent.destination.node_id
        # The result of our own AddRaftVoter or RemoveRaftVoter is in the log; if it is not, we send it again later.
        outcome = Outcome.DONE
        match response:
            case FetchResponse():
                outcome = self._following.handle_fetch(response, now_ms)
            case VoteResponse():
                outcome = self._elections.handle_vote(node_id, response, now_ms)
            case BeginQuorumEpochResponse():
                outcome = self._elections.handle_begin_quorum_epoch(response, now_ms)
            case EndQuorumEpochResponse():
                outcome = self._elections.handle_end_quorum_epoch(node_id, response, now_ms)
            case FetchSnapshotResponse():
                outcome = self._snapshots.handle(response, now_ms)
            case ApiVersionsResponse():
                outcome = self._voter_changes.handle_api_versions(node_id, response, now_ms)
            case UpdateRaftVoterResponse():
                outcome = self._voter_changes.handle_update(response, now_ms)
        return outcome

    def _poll(self, now_ms: int) -> None:
        self._now_ms = now_ms
        for _ in range(_STEPS_MAX):
            state = self._quorum.state
            self._poll_state(state, now_ms)
            if self._quorum.state is state:
                return

    def _poll_state(self, state: State, now_ms: int) -> None:
        match state:
            case Leader():
                self._poll_leader(state, now_ms)
            case Follower():
                self._poll_follower(state, now_ms)
            case Unattached():
                self._elections.poll_unattached(state, now_ms)
                if self._quorum.state is state:
                    self._following.fetch_from_any(now_ms)
            case Prospective():
                self._elections.poll_prospective(state, now_ms)
            case Candidate():
                self._elections.poll_candidate(state, now_ms)
            case Resigned():
                self._elections.poll_resigned(state, now_ms)
            case _:
                assert_never(state)

    def _poll_leader(self, leader: Leader, now_ms: int) -> None:
        if self._context.is_shutting_down or leader.is_quorum_lost(now_ms):
            if not self._context.is_shutting_down:
                self._context.add_fact("warning", "raft-quorum-lost", fetched=sorted(leader.fetched_voters))
            self._quorum.become_resigned(now_ms)
            return
        self._voter_changes.poll_leader(leader, now_ms)
        self._elections.poll_leader(leader, now_ms)

    def _poll_follower(self, state: Follower, now_ms: int) -> None:
        if self._log.is_rewinding:
            return
        if self._quorum.is_voter and state.fetch_deadline_ms <= now_ms and not self._context.is_shutting_down:
            self._elections.fetch_timed_out(state, now_ms)
            return
        leader = self._following.leader_destination(state)
        if not self._voter_changes.poll_follower(state, leader, now_ms):
            self._following.poll_follower(state, now_ms)

    def _deadlines(self) -> Iterator[int | None]:
        yield self._requests.next_change_ms(self._now_ms)
        yield self._replication.next_deadline_ms
        match self._quorum.state:
            case Leader() as leader:
                yield leader.check_quorum_deadline_ms
                yield leader.begin_epoch_at_ms
                yield None if leader.pending_change is None else leader.pending_change.deadline_ms
            case Follower() as follower:
                yield follower.fetch_deadline_ms
                yield follower.update_voters_at_ms
            case Candidate() as candidate:
                yield candidate.election_deadline_ms
                yield candidate.backoff_until_ms
            case state:
                yield state.election_deadline_ms


def _is_pre_vote(message: WireMessage) -> bool:
    return isinstance(message, VoteRequest) and message.topics[0].partitions[0].pre_vote
