"""Requests and responses of Vote, BeginQuorumEpoch and EndQuorumEpoch, with the fields of each version."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from falkirk.protocol.messages import (
    begin_quorum_epoch_request,
    begin_quorum_epoch_response,
    end_quorum_epoch_request,
    end_quorum_epoch_response,
    vote_request,
    vote_response,
)
from falkirk.raft.context import PARTITION, TOPIC
from falkirk.raft.leader_discovery import wire_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.error_codes import ErrorCode
    from falkirk.raft.context import RaftContext
    from falkirk.raft.voter_set import ReplicaKey

E = TypeVar(
    "E",
    vote_response.NodeEndpoint,
    begin_quorum_epoch_response.NodeEndpoint,
    end_quorum_epoch_response.NodeEndpoint,
)


def vote(context: RaftContext, voter: ReplicaKey, *, is_pre_vote: bool) -> vote_request.VoteRequest:
    """Return a request for a vote, or for a pre-vote (version 2)."""
    own, end = context.quorum.own_key, context.log.end
    partition = vote_request.PartitionData(
        partition_index=PARTITION,
        replica_epoch=context.quorum.epoch,
        replica_id=own.node_id,
        replica_directory_id=own.directory_id,
        voter_directory_id=voter.directory_id,
        last_offset_epoch=end.epoch,
        last_offset=end.offset,
        pre_vote=is_pre_vote,
    )
    topic = vote_request.TopicData(topic_name=TOPIC, partitions=[partition])
    return vote_request.VoteRequest(cluster_id=context.config.cluster_id, voter_id=voter.node_id, topics=[topic])


def begin_quorum_epoch(context: RaftContext, voter: ReplicaKey) -> begin_quorum_epoch_request.BeginQuorumEpochRequest:
    """Return the request by which a leader announces itself to another controller."""
    module = begin_quorum_epoch_request
    partition = module.PartitionData(
        partition_index=PARTITION,
        voter_directory_id=voter.directory_id,
        leader_id=context.quorum.own_key.node_id,
        leader_epoch=context.quorum.epoch,
    )
    return module.BeginQuorumEpochRequest(
        cluster_id=context.config.cluster_id,
        voter_id=voter.node_id,
        topics=[module.TopicData(topic_name=TOPIC, partitions=[partition])],
        leader_endpoints=[
            module.LeaderEndpoint(name=name, host=endpoint.host, port=endpoint.port)
            for name, endpoint in context.quorum.own_listeners.items()
        ],
    )


def end_quorum_epoch(
    context: RaftContext, successors: Sequence[ReplicaKey]
) -> end_quorum_epoch_request.EndQuorumEpochRequest:
    """Return the request by which a leader resigns; `successors` are its preferred candidates, in order."""
    module = end_quorum_epoch_request
    partition = module.PartitionData(
        partition_index=PARTITION,
        leader_id=context.quorum.own_key.node_id,
        leader_epoch=context.quorum.epoch,
        preferred_successors=tuple(key.node_id for key in successors),
        preferred_candidates=[
            module.ReplicaInfo(candidate_id=key.node_id, candidate_directory_id=key.directory_id) for key in successors
        ],
    )
    return module.EndQuorumEpochRequest(
        cluster_id=context.config.cluster_id,
        topics=[module.TopicData(topic_name=TOPIC, partitions=[partition])],
        leader_endpoints=[
            module.LeaderEndpoint(name=name, host=endpoint.host, port=endpoint.port)
            for name, endpoint in context.quorum.own_listeners.items()
        ],
    )


def vote_answer(
    context: RaftContext, api_version: int, error: ErrorCode, *, is_granted: bool
) -> vote_response.VoteResponse:
    """Return the vote with the epoch, its leader and, from version 1 on, the leader's endpoint."""
    module = vote_response
    partition = module.PartitionData(
        partition_index=PARTITION,
        error_code=error,
        leader_id=wire_id(context.quorum.leader_id),
        leader_epoch=context.quorum.epoch,
        vote_granted=is_granted,
    )
    return module.VoteResponse(
        topics=[module.TopicData(topic_name=TOPIC, partitions=[partition])],
        node_endpoints=_leader_endpoints(context, api_version, module.NodeEndpoint),
    )


def begin_quorum_epoch_answer(
    context: RaftContext, api_version: int, error: ErrorCode
) -> begin_quorum_epoch_response.BeginQuorumEpochResponse:
    """Return the response, with epoch and leader as in `vote_answer`."""
    module = begin_quorum_epoch_response
    partition = module.PartitionData(
        partition_index=PARTITION,
        error_code=error,
        leader_id=wire_id(context.quorum.leader_id),
        leader_epoch=context.quorum.epoch,
    )
    return module.BeginQuorumEpochResponse(
        topics=[module.TopicData(topic_name=TOPIC, partitions=[partition])],
        node_endpoints=_leader_endpoints(context, api_version, module.NodeEndpoint),
    )


def end_quorum_epoch_answer(
    context: RaftContext, api_version: int, error: ErrorCode
) -> end_quorum_epoch_response.EndQuorumEpochResponse:
    """Return the response, with epoch and leader as in `vote_answer`."""
    module = end_quorum_epoch_response
    partition = module.PartitionData(
        partition_index=PARTITION,
        error_code=error,
        leader_id=wire_id(context.quorum.leader_id),
        leader_epoch=context.quorum.epoch,
    )
    return module.EndQuorumEpochResponse(
        topics=[module.TopicData(topic_name=TOPIC, partitions=[partition])],
        node_endpoints=_leader_endpoints(context, api_version, module.NodeEndpoint),
    )


def _leader_endpoints(context: RaftContext, api_version: int, node_endpoint: type[E]) -> list[E]:
    endpoint = context.quorum.leader_endpoint
    if endpoint is None or api_version < 1:
        return []
    return [node_endpoint(node_id=wire_id(context.quorum.leader_id), host=endpoint.host, port=endpoint.port)]
