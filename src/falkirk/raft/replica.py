"""One replica of the metadata log as a step function: requests, answers and time in, work for the driver out."""

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
from falkirk.raft.peers import Peers
from falkirk.raft.quorum import Quorum
from falkirk.raft.raft_log import RaftLog
from falkirk.raft.replication_follower import ReplicationFollower
from falkirk.raft.replication_leader import ReplicationLeader
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
    from falkirk.raft.log_reader import LogReader
    from falkirk.raft.peers import SentRequest

_STEPS_MAX = 8
"""How many states can follow each other at one moment, generously; more would be a loop."""


class RaftReplica:
    """Votes, leads, follows or observes, as Kafka's KafkaRaftClient does.

    After any input the driver asks `take_output`, writes what it says, calls `persisted`, sends, applies, and asks
    again until the output is empty; inputs may come in between, and several before the output is asked for.
    """

    def __init__(
        self,
        config: RaftConfig,
        election_state: ElectionState,
        log: LogReader,
        random: Chance,
        now_ms: int,
        *,
        follows_lowerings: Callable[[int], bool] = lambda _node_id: True,
    ) -> None:
        """Begin with what the disk says.

        `follows_lowerings` is asked, by node id, who can take in a record that lowers metadata.version: all others are
        held back before it, as long as the log has it, and led past it by a snapshot.
        """
        static = VoterSet()
        if config.static_voters:
            listener = listener_name(next(iter(config.listeners), "CONTROLLER"))
            static = VoterSet.of_static(config.static_voters, listener)
        facts: list[RaftFact] = []
        self._log = RaftLog(log, static)
        self._quorum = Quorum(config, self._log, random, facts)
        self._peers = Peers(config)
        self._context = RaftContext(
            config=config,
            random=random,
            log=self._log,
            quorum=self._quorum,
            peers=self._peers,
            facts=facts,
            follows_lowerings=follows_lowerings,
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
        self._told_leader = LeaderAndEpoch(leader_id=None, epoch=-1)
        self._told_high_watermark: int | None = None
        self._now_ms = now_ms
        self._start(election_state, now_ms)

    # Inputs.

    def receive_request(self, token: int, request: WireMessage, api_version: int, now_ms: int) -> None:
        """Take a request of the quorum in. It is answered by an OutboundReply with `token`, at once or later."""
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
        """Take the answer to an OutboundRequest in. One that nobody waits for any more is ignored."""
        sent = self._peers.take_sent(request_id)
        if sent is not None:
            outcome = self._handle(sent, response, now_ms)
            self._peers.finished(request_id, sent.destination, now_ms, is_success=outcome is Outcome.DONE)
            self._poll(now_ms)

    def request_failed(self, request_id: int, now_ms: int, *, is_unsupported_version: bool = False) -> None:
        """Take in that a request got no answer or, `is_unsupported_version`, could not be put to the other side."""
        sent = self._peers.take_sent(request_id)
        if sent is None:
            return
        self._peers.finished(request_id, sent.destination, now_ms, is_success=False)
        if isinstance(sent.message, ApiVersionsRequest):
            self._voter_changes.api_versions_failed(sent.destination.node_id)
        elif is_unsupported_version and _is_pre_vote(sent.message):
            self._elections.pre_vote_unsupported(now_ms)
        self._poll(now_ms)

    def tick(self, now_ms: int) -> None:
        """Do what is due; asked for at `next_wakeup_ms`, harmless at any other time."""
        self._replication.answer_expired(now_ms)
        self._poll(now_ms)

    def connection_lost(self, token: int) -> None:
        """Forget a request that nobody waits for any more; it may still get an answer that is under way."""
        self._replication.forget(token)
        self._voter_changes.forget(token)

    def append(self, values: Sequence[bytes], now_ms: int) -> int:
        """Append data records as one batch; give the offset of the first.

        They are committed once the high watermark is above them, and may be lost if the replica stops to lead
        before. Raises NotLeaderError, and BatchTooLargeError if they take more than 8 MiB; then nothing is appended.
        """
        return self._replication.append(values, now_ms)

    def resign(self, now_ms: int) -> None:
        """Give up leading, and tell the others at once; they elect another. Nothing happens if we do not lead."""
        if self._quorum.is_leader:
            self._quorum.become_resigned(now_ms)
            self._poll(now_ms)

    def shutdown(self, now_ms: int) -> None:
        """Resign, and neither stand nor lead again; wait for `is_shut_down`, but not for ever."""
        self._context.is_shutting_down = True
        self.resign(now_ms)
        self._poll(now_ms)

    def snapshot_created(self, snapshot: OffsetAndEpoch) -> None:
        """Take in that the node has written a snapshot of its own; the log may have been cut at its start."""
        self._log.history.forget_before(min(snapshot.offset, self._log.reader.start_offset))
        if self._quorum.is_leader:
            self._replication.answer_waiting()

    def snapshot_refused(self, snapshot: OffsetAndEpoch) -> None:
        """Take in that a fetched snapshot is none; called in place of installing it, before `persisted`."""
        self._log.refuse_snapshot(snapshot)
        self._context.tell("error", "raft-snapshot-refused", offset=snapshot.offset, epoch=snapshot.epoch)

    # Output.

    def take_output(self) -> RaftOutput:
        """Hand out what is to be done, once."""
        election_state, leader = self._take_quorum_changes()
        high_watermark = self._log.high_watermark
        is_new_high_watermark = high_watermark != self._told_high_watermark
        self._told_high_watermark = high_watermark
        log_changes = self._log.take_changes()
        installed = next((each.snapshot for each in log_changes if isinstance(each, InstallSnapshot)), None)
        messages: list[OutboundRequest | OutboundReply] = [*self._context.replies, *self._peers.take_outbound()]
        self._context.replies.clear()
        return RaftOutput(
            election_state=election_state,
            log_changes=log_changes,
            messages=tuple(messages),
            leader=leader,
            high_watermark=high_watermark if is_new_high_watermark else None,
            installed_snapshot=installed,
        )

    def persisted(self, now_ms: int) -> None:
        """Take in that all that `take_output` handed out is on disk."""
        was_rewinding = self._log.is_rewinding
        installed = self._log.persisted()
        if installed is not None:
            self._context.tell("info", "raft-snapshot-installed", offset=installed.offset, epoch=installed.epoch)
        leader = self._quorum.state
        if isinstance(leader, Leader):
            self._replication.persisted(leader, now_ms)
        if was_rewinding or self._quorum.state is not leader:
            self._poll(now_ms)

    def take_facts(self) -> tuple[RaftFact, ...]:
        """Hand out what is worth a line in the log, once."""
        facts = tuple(self._context.facts)
        self._context.facts.clear()
        return facts

    @property
    def next_wakeup_ms(self) -> int | None:
        """When `tick` should be called next, if no other input comes before; None: never."""
        now_ms = self._now_ms
        return min((time for time in self._deadlines() if time is not None and time > now_ms), default=None)

    # Views.

    @property
    def leader(self) -> LeaderAndEpoch:
        """Who leads, as far as the replica knows."""
        return self._quorum.leader_and_epoch

    @property
    def leader_endpoint(self) -> Endpoint | None:
        """Where that leader listens, this replica included; None if not known."""
        return None if self.leader.leader_id is None else self._quorum.leader_endpoint

    @property
    def is_leader(self) -> bool:
        """This replica leads."""
        return self._quorum.is_leader

    @property
    def is_voter(self) -> bool:
        """This replica, with this disk, is a voter."""
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
        """Where the log will end when all is on disk."""
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
        """How far replicas that should be held back before a lowering are beyond it, at most; None if none are.

        A snapshot takes them past it only if it ends behind that: no follower takes one that ends where its log does.
        """
        return self._replication.held_back_end

    def voters_before(self, end_offset: int) -> tuple[int, VotersRecord | None]:
        """Give kraft.version and voters as a snapshot that ends at `end_offset` must have them."""
        history = self._log.history
        voters = history.voters_before(end_offset)
        return history.kraft_version_before(end_offset), None if voters is None else voters.record()

    @property
    def is_shut_down(self) -> bool:
        """Nothing is left to do after `shutdown`: another leads, or we had no part in who does."""
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
                self._elections.stand(now_ms)
        self._poll(now_ms)

    def _state_changed(self, left: State, now_ms: int) -> None:
        self._peers.reset_all()
        if isinstance(left, Leader):
            self._voter_changes.stop_leading(left)
            self._replication.stop_leading()
        if isinstance(self._quorum.state, Leader):
            self._replication.begin_epoch(self._quorum.state, now_ms)

    def _take_quorum_changes(self) -> tuple[ElectionState | None, LeaderAndEpoch | None]:
        marks = self._quorum.marks
        # Asked for with every request: mostly nothing has changed, and that is seen by identity.
        if all(map(is_, marks, self._marks)):
            return None, None
        self._marks = marks
        election_state, leader = self._quorum.election_state, self._quorum.leader_and_epoch
        is_new_state, is_new_leader = election_state != self._stored, leader != self._told_leader
        self._stored, self._told_leader = election_state, leader
        return election_state if is_new_state else None, leader if is_new_leader else None

    def _handle(self, sent: SentRequest, response: WireMessage, now_ms: int) -> Outcome:
        node_id = sent.destination.node_id
        # Of AddRaftVoter and RemoveRaftVoter the log says what came; if nothing did, we ask again later.
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
                self._context.tell("warning", "raft-quorum-lost", fetched=sorted(leader.fetched_voters))
            self._quorum.become_resigned(now_ms)
            return
        self._voter_changes.poll_leader(leader, now_ms)
        self._elections.poll_leader(leader, now_ms)

    def _poll_follower(self, state: Follower, now_ms: int) -> None:
        if self._log.is_rewinding:
            return
        if self._quorum.is_voter and state.fetch_deadline_ms <= now_ms and not self._context.is_shutting_down:
            self._elections.stand(now_ms)
            return
        leader = self._following.leader_destination(state)
        if not self._voter_changes.poll_follower(state, leader, now_ms):
            self._following.poll_follower(state, now_ms)

    def _deadlines(self) -> Iterator[int | None]:
        yield self._peers.next_change_ms(self._now_ms)
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
