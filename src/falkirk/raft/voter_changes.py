"""AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter (KIP-853): one change of one voter at a time, at kraft.version 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode, error_name
from falkirk.protocol.messages import add_raft_voter_request, update_raft_voter_request
from falkirk.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from falkirk.protocol.messages.add_raft_voter_response import AddRaftVoterResponse
from falkirk.protocol.messages.api_versions_request import ApiVersionsRequest
from falkirk.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from falkirk.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from falkirk.protocol.messages.update_raft_voter_request import UpdateRaftVoterRequest
from falkirk.protocol.messages.update_raft_voter_response import CurrentLeader, UpdateRaftVoterResponse
from falkirk.protocol.schema import ZERO_UUID
from falkirk.raft.leader_discovery import NodeEndpoint, Outcome, handle_common, wire_id
from falkirk.raft.leader_state import Leader, PendingVoterChange
from falkirk.raft.request_manager import Destination
from falkirk.raft.states import Follower
from falkirk.raft.voter_set import KRaftVersionRange, ReplicaKey, VoterNode, VoterSet, listener_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from falkirk.protocol.messages.api_versions_response import ApiVersionsResponse
    from falkirk.protocol.schema import WireMessage
    from falkirk.raft.context import RaftContext
    from falkirk.raft.replication_leader import ReplicationLeader


KRAFT_VERSION_FEATURE: Final = "kraft.version"
_Refusal = tuple[ErrorCode, str]


class _Listener(Protocol):
    name: str
    host: str
    port: int


class VoterChanges:
    """Both sides: the leader changes the voters; a replica requests its own update or, with auto-join, its addition."""

    def __init__(self, context: RaftContext, replication: ReplicationLeader) -> None:
        self._context = context
        self._quorum = context.quorum
        self._log = context.log
        self._replication = replication

    # The leader.

    def receive_add(self, token: int, request: AddRaftVoterRequest, now_ms: int) -> None:
        """Ask the new voter for its ApiVersions; `handle_api_versions` goes on."""
        leader, refusal = self._check(request.cluster_id)
        key = ReplicaKey(request.voter_id, request.voter_directory_id)
        listeners = _listeners(request.listeners)
        endpoint = listeners.get(self._quorum.listener)
        voters = self._quorum.voters
        if leader is None or refusal is not None:
            refusal = refusal or (ErrorCode.NOT_LEADER_OR_FOLLOWER, "")
        elif key.node_id < 0 or key.directory_id == ZERO_UUID:
            refusal = ErrorCode.INVALID_REQUEST, "Add voter request didn't include a valid voter"
        elif endpoint is None:
            reason = f"Add voter request didn't include an endpoint for the listener {self._quorum.listener}"
            refusal = ErrorCode.INVALID_REQUEST, reason
        else:
            refusal = self._change_refusal(leader, "adding")
        if refusal is None and key.node_id in voters.nodes:
            reason = f"The voter id for {key} is already part of the set of voters {voters}."
            refusal = ErrorCode.DUPLICATE_VOTER, reason
        if refusal is not None or leader is None or endpoint is None:
            self._context.reply(token, _add_response(refusal))
            return
        self._ask_new_voter(token, request, leader, Destination(key.node_id, endpoint), now_ms)

    def _ask_new_voter(
        self, token: int, request: AddRaftVoterRequest, leader: Leader, to: Destination, now_ms: int
    ) -> None:
        key = ReplicaKey(request.voter_id, request.voter_directory_id)
        if not self._context.requests.is_ready(to, now_ms):
            refusal = ErrorCode.REQUEST_TIMED_OUT, f"New voter {key} is not ready to receive requests"
            self._context.reply(token, _add_response(refusal))
            return
        self._context.requests.send(to, ApiVersionsRequest(), now_ms)
        leader.pending_change = PendingVoterChange(
            is_addition=True,
            token=token,
            deadline_ms=now_ms + self._context.config.request_timeout_ms,
            key=key,
            listeners=_listeners(request.listeners),
            ack_when_committed=request.ack_when_committed,
        )

    def handle_api_versions(self, node_id: int | None, response: ApiVersionsResponse, now_ms: int) -> Outcome:
        """Add the new voter, if it supports the kraft.version and has caught up."""
        leader = self._quorum.state
        pending = self._awaited(node_id)
        if pending is None or not isinstance(leader, Leader):
            return Outcome.DONE
        versions = next(
            (
                KRaftVersionRange(each.min_version, each.max_version)
                for each in response.supported_features
                if each.name == KRAFT_VERSION_FEATURE
            ),
            KRaftVersionRange(),
        )
        level = self._log.history.kraft_version
        if response.error_code:
            name = error_name(response.error_code)
            refusal = ErrorCode.REQUEST_TIMED_OUT, f"Aborted add voter operation since API_VERSIONS returned {name}"
            self._finish(leader, refusal)
            return Outcome.RETRY
        if level not in versions:
            reason = (
                f"Aborted add voter operation for {pending.key} since the {KRAFT_VERSION_FEATURE} range "
                f"{versions.min_version}-{versions.max_version} doesn't support the finalized version {level}"
            )
            self._finish(leader, (ErrorCode.INVALID_REQUEST, reason))
        elif not leader.is_caught_up(pending.key, now_ms):
            reason = f"Aborted add voter operation for {pending.key} since it is lagging behind"
            self._finish(leader, (ErrorCode.REQUEST_TIMED_OUT, reason))
        else:
            node = VoterNode(key=pending.key, listeners=pending.listeners, kraft_versions=versions)
            voters = self._quorum.voters.with_voter(node)
            assert voters is not None
            self._context.add_fact("info", "raft-voter-added", voter=str(pending.key), voters=str(voters))
            pending.offset = self._replication.append_voters(leader, voters, now_ms)
            if not pending.ack_when_committed:
                self._answer(pending, None)
        return Outcome.DONE

    def api_versions_failed(self, node_id: int | None) -> None:
        """Abandon the addition of a voter that cannot be reached."""
        leader = self._quorum.state
        if isinstance(leader, Leader) and self._awaited(node_id) is not None:
            refusal = ErrorCode.REQUEST_TIMED_OUT, "Aborted add voter operation since API_VERSIONS failed"
            self._finish(leader, refusal)

    def receive_remove(self, token: int, request: RemoveRaftVoterRequest, now_ms: int) -> None:
        """Remove a voter; if that is this replica, it leads until the change is committed."""
        leader, refusal = self._check(request.cluster_id)
        key = ReplicaKey(request.voter_id, request.voter_directory_id)
        voters = self._quorum.voters
        changed = voters.without(key)
        if leader is None or refusal is not None:
            refusal = refusal or (ErrorCode.NOT_LEADER_OR_FOLLOWER, "")
        elif key.node_id < 0 or key.directory_id == ZERO_UUID:
            refusal = ErrorCode.INVALID_REQUEST, "Remove voter request didn't include a valid voter"
        else:
            refusal = self._change_refusal(leader, "removing")
        if refusal is None and changed is None:
            refusal = ErrorCode.VOTER_NOT_FOUND, f"Cannot remove voter {key} from the set of voters {voters}"
        if refusal is not None or leader is None or changed is None:
            self._context.reply(token, _remove_response(refusal))
            return
        self._context.add_fact("info", "raft-voter-removed", voter=str(key), voters=str(changed))
        offset = self._replication.append_voters(leader, changed, now_ms)
        deadline_ms = now_ms + self._context.config.request_timeout_ms
        leader.pending_change = PendingVoterChange(
            is_addition=False, token=token, deadline_ms=deadline_ms, key=key, offset=offset
        )

    def receive_update(self, token: int, request: UpdateRaftVoterRequest, now_ms: int) -> None:
        """Append a voter's endpoints and kraft.version range; the reply does not wait for the commit.

        At kraft.version 0 nothing can be appended. A leader of 4.1 or later remembers it, so that `raise_kraft_version`
        can write it.
        """
        error = self._context.leader_error(request.current_leader_epoch)
        leader = self._quorum.state
        listeners = _listeners(request.listeners)
        feature = request.kraft_version_feature
        versions = KRaftVersionRange(feature.min_supported_version, feature.max_supported_version)
        key = ReplicaKey(request.voter_id, request.voter_directory_id)
        is_valid = key.node_id >= 0 and key.directory_id != ZERO_UUID and self._quorum.listener in listeners
        if self._context.is_foreign(request.cluster_id):
            error = ErrorCode.INCONSISTENT_CLUSTER_ID
        elif not error and (not is_valid or not 0 <= versions.min_version <= versions.max_version):
            error = ErrorCode.INVALID_REQUEST
        if not error and isinstance(leader, Leader):
            level = self._log.history.kraft_version
            is_remembered = level == 0 and self._context.config.updates_kraft_version
            refusal = None if is_remembered else self._change_refusal(leader, "updating")
            node = VoterNode(key=key, listeners=listeners, kraft_versions=versions)
            changed = self._quorum.voters.updated(node)
            if refusal is not None:
                error = refusal[0]
            elif level not in versions:
                error = ErrorCode.INVALID_REQUEST
            elif changed is None:
                error = ErrorCode.VOTER_NOT_FOUND
            elif is_remembered:
                leader.reported_voters[key.node_id] = node
            else:
                self._context.add_fact("info", "raft-voter-updated", voter=str(key))
                self._replication.append_voters(leader, changed, now_ms)
        self._context.reply(token, self._update_response(error))

    def upgrade_refusal(self) -> str | None:
        """Return why this replica cannot raise kraft.version to its highest level; None if it can, or is there already.

        Every voter must have reported to this leader that it supports the level. Source: answers of Kafka 4.3.1.
        """
        state, history = self._quorum.state, self._log.history
        version = self._context.config.kraft_version_max
        if history.kraft_version >= version:
            return None
        name = f"{KRAFT_VERSION_FEATURE} to KRAFT_VERSION_{version}"
        if not isinstance(state, Leader) or state.high_watermark is None or self._awaits_lowering(state):
            return f"Invalid upgrade of {name} because the quorum has no leader that could"
        if any(version not in node.kraft_versions or node.key.directory_id == ZERO_UUID for node in self._known()):
            return f"Invalid upgrade of {name} because not all of the voters support it"
        return None

    def raise_kraft_version(self, now_ms: int) -> None:
        """Append the highest kraft.version and the voters, unless it is there. `upgrade_refusal` must be None."""
        leader, history = self._quorum.state, self._log.history
        version = self._context.config.kraft_version_max
        assert self.upgrade_refusal() is None
        if history.kraft_version < version:
            assert isinstance(leader, Leader)
            voters = self.known_voters
            self._context.add_fact("info", "kraft-version-raised", kraft_version=version, voters=str(voters))
            self._replication.append_kraft_version(leader, version, voters, now_ms)

    @property
    def known_voters(self) -> VoterSet:
        """The voters that `raise_kraft_version` appends."""
        return VoterSet({node.key.node_id: node for node in self._known()})

    def _known(self) -> Iterator[VoterNode]:
        """Yield the voters with all that is known of them: the leader itself, and what the others have reported."""
        state = self._quorum.state
        reported = state.reported_voters if isinstance(state, Leader) else {}
        for node in self._quorum.voters:
            is_own = node.key.node_id == self._quorum.own_key.node_id
            yield self._quorum.own_node if is_own else reported.get(node.key.node_id, node)

    def poll_leader(self, leader: Leader, now_ms: int) -> None:
        """Abandon a change that takes too long; what was appended stays appended."""
        if leader.pending_change is not None and leader.pending_change.deadline_ms <= now_ms:
            self._finish(leader, (ErrorCode.REQUEST_TIMED_OUT, ""))

    def high_watermark_moved(self, leader: Leader, now_ms: int) -> None:
        """Complete a committed change; a leader that has removed itself resigns then."""
        pending = leader.pending_change
        if pending is not None and pending.offset is not None and (leader.high_watermark or 0) > pending.offset:
            self._finish(leader, None)
        offset = self._log.history.voters_offset
        is_committed = offset is not None and offset < (leader.high_watermark or 0)
        if is_committed and not self._quorum.is_voter:
            self._context.add_fact("info", "raft-leader-removed", voters=str(self._quorum.voters))
            self._quorum.become_resigned(now_ms)

    def stop_leading(self, leader: Leader) -> None:
        """Fail the pending change's request: whether the change will be committed is unknown."""
        if leader.pending_change is not None:
            self._finish(leader, (ErrorCode.NOT_LEADER_OR_FOLLOWER, ""))

    def forget(self, token: int) -> None:
        """Drop the waiting request; the change itself goes on."""
        leader = self._quorum.state
        if isinstance(leader, Leader) and leader.pending_change is not None and leader.pending_change.token == token:
            leader.pending_change.token = None

    # The others.

    def poll_follower(self, state: Follower, to: Destination | None, now_ms: int) -> bool:
        """Send the leader this replica's own change when one is due; return whether a request was sent."""
        if now_ms < state.update_voters_at_ms or to is None or not self._context.requests.is_ready(to, now_ms):
            return False
        request = self._own_change(state)
        state.update_voters_at_ms = now_ms + self._context.config.fetch_timeout_ms
        if request is None:
            return False
        self._context.requests.send(to, request, now_ms)
        return True

    def handle_update(self, response: UpdateRaftVoterResponse, now_ms: int) -> Outcome:
        """Handle the leader's reply; a failed update is sent again later."""
        leader = response.current_leader
        endpoints = [] if not leader.host else [_Endpoint(leader.leader_id, leader.host, leader.port)]
        outcome = handle_common(
            self._context,
            now_ms,
            error=response.error_code,
            leader_id=leader.leader_id,
            epoch=leader.leader_epoch if leader.leader_epoch >= 0 else self._quorum.epoch,
            endpoints=endpoints,
        )
        state = self._quorum.state
        if outcome is None and response.error_code == ErrorCode.NONE and isinstance(state, Follower):
            state.has_updated_leader = True
        return outcome or Outcome.DONE

    def _own_change(self, state: Follower) -> WireMessage | None:
        voters, config = self._quorum.voters, self._context.config
        if self._log.history.kraft_version < 1:
            is_due = config.updates_kraft_version and self._quorum.is_voter and not state.has_updated_leader
            return self._update_request() if is_due else None
        if not config.is_controller:
            return None
        if self._quorum.is_voter:
            return self._update_request() if voters.needs_update(self._quorum.own_node) else None
        if not config.auto_join:
            return None
        known = voters.nodes.get(config.node_id)
        if known is not None:
            # A disk that this node no longer has.
            return RemoveRaftVoterRequest(
                cluster_id=config.cluster_id,
                voter_id=known.key.node_id,
                voter_directory_id=known.key.directory_id,
            )
        return AddRaftVoterRequest(
            cluster_id=config.cluster_id,
            timeout_ms=config.request_timeout_ms,
            voter_id=config.node_id,
            voter_directory_id=config.directory_id,
            listeners=[
                add_raft_voter_request.Listener(name=name, host=endpoint.host, port=endpoint.port)
                for name, endpoint in self._quorum.own_listeners.items()
            ],
            # The commit needs this node's own fetches, which wait for the response.
            ack_when_committed=False,
        )

    def _update_request(self) -> UpdateRaftVoterRequest:
        own, config = self._quorum.own_node, self._context.config
        return UpdateRaftVoterRequest(
            cluster_id=config.cluster_id,
            current_leader_epoch=self._quorum.epoch,
            voter_id=config.node_id,
            voter_directory_id=config.directory_id,
            listeners=[
                update_raft_voter_request.Listener(name=name, host=endpoint.host, port=endpoint.port)
                for name, endpoint in own.listeners.items()
            ],
            kraft_version_feature=update_raft_voter_request.KRaftVersionFeature(
                min_supported_version=own.kraft_versions.min_version,
                max_supported_version=own.kraft_versions.max_version,
            ),
        )

    def _check(self, cluster_id: str | None) -> tuple[Leader | None, _Refusal | None]:
        if self._context.is_foreign(cluster_id):
            own = self._context.config.cluster_id
            reason = f'The given id "{cluster_id}" doesn\'t match the cluster id "{own}"'
            return None, (ErrorCode.INCONSISTENT_CLUSTER_ID, reason)
        state = self._quorum.state
        return (state if isinstance(state, Leader) else None), None

    def _change_refusal(self, leader: Leader, doing: str) -> _Refusal | None:
        if leader.pending_change is not None:
            reason = "Request timed out waiting for leader to handle previous voter change request"
            return ErrorCode.REQUEST_TIMED_OUT, reason
        if leader.high_watermark is None:
            reason = "Request timed out waiting for leader to establish HWM and fence previous voter changes"
            return ErrorCode.REQUEST_TIMED_OUT, reason
        if self._awaits_lowering(leader):
            reason = "Request timed out waiting for voters to commit a lowering of metadata.version"
            return ErrorCode.REQUEST_TIMED_OUT, reason
        level = self._log.history.kraft_version
        if level < 1:
            reason = f"Cluster doesn't support {doing} voter because the {KRAFT_VERSION_FEATURE} feature is {level}"
            return ErrorCode.UNSUPPORTED_VERSION, reason
        offset = self._log.history.voters_offset
        if offset is None or offset >= leader.high_watermark:
            reason = (
                "Request timed out waiting for voters to commit the latest voter change at "
                f"{offset} with HWM {leader.high_watermark}"
            )
            return ErrorCode.REQUEST_TIMED_OUT, reason
        return None

    def _awaits_lowering(self, leader: Leader) -> bool:
        """Return whether a lowering is not committed: a snapshot may be offered behind it, which fixes the voters."""
        lowerings = self._log.reader.lowerings
        assert leader.high_watermark is not None
        return bool(lowerings) and lowerings[-1].end_offset > leader.high_watermark

    def _awaited(self, node_id: int | None) -> PendingVoterChange | None:
        leader = self._quorum.state
        pending = leader.pending_change if isinstance(leader, Leader) else None
        if pending is None or not pending.is_addition or pending.offset is not None or pending.key.node_id != node_id:
            return None
        return pending

    def _finish(self, leader: Leader, refusal: _Refusal | None) -> None:
        assert leader.pending_change is not None
        self._answer(leader.pending_change, refusal)
        leader.pending_change = None

    def _answer(self, pending: PendingVoterChange, refusal: _Refusal | None) -> None:
        if pending.token is not None:
            response = _add_response(refusal) if pending.is_addition else _remove_response(refusal)
            self._context.reply(pending.token, response)
            pending.token = None

    def _update_response(self, error: ErrorCode) -> UpdateRaftVoterResponse:
        endpoint = self._quorum.leader_endpoint or Endpoint("", 0)
        return UpdateRaftVoterResponse(
            error_code=error,
            current_leader=CurrentLeader(
                leader_id=wire_id(self._quorum.leader_id),
                leader_epoch=self._quorum.epoch,
                host=endpoint.host,
                port=endpoint.port,
            ),
        )


class _Endpoint(NodeEndpoint):
    def __init__(self, node_id: int, host: str, port: int) -> None:
        self._values = node_id, host, port

    @property
    def node_id(self) -> int:
        return self._values[0]

    @property
    def host(self) -> str:
        return self._values[1]

    @property
    def port(self) -> int:
        return self._values[2]


def _listeners(listeners: Iterable[_Listener]) -> Mapping[str, Endpoint]:
    return {listener_name(each.name): Endpoint(each.host, each.port) for each in listeners}


def _add_response(refusal: _Refusal | None) -> AddRaftVoterResponse:
    error, reason = refusal or (ErrorCode.NONE, "")
    return AddRaftVoterResponse(error_code=error, error_message=reason or None)


def _remove_response(refusal: _Refusal | None) -> RemoveRaftVoterResponse:
    error, reason = refusal or (ErrorCode.NONE, "")
    return RemoveRaftVoterResponse(error_code=error, error_message=reason or None)
