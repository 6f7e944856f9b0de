"""DescribeQuorum: the progress of each voter and observer."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.mapped_array import mapped_array
from falkirk.protocol.messages.describe_quorum_response import (
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    ReplicaState,
    TopicData,
)
from falkirk.raft.context import PARTITION, TOPIC
from falkirk.raft.leader_state import Leader

if TYPE_CHECKING:
    from falkirk.protocol.messages.describe_quorum_request import DescribeQuorumRequest
    from falkirk.protocol.messages.describe_quorum_request import TopicData as RequestedTopic
    from falkirk.raft.context import RaftContext
    from falkirk.raft.leader_state import ReplicaProgress
    from falkirk.raft.voter_set import VoterSet

_KEYS_SINCE = 2


def describe_quorum(
    context: RaftContext, request: DescribeQuorumRequest, api_version: int, now_ms: int
) -> DescribeQuorumResponse:
    """Return the response; NOT_LEADER_OR_FOLLOWER unless leader. Version 2 adds directories and listeners."""
    requested = ((topic.topic_name, each.partition_index) for topic in request.topics for each in topic.partitions)
    if list(islice(requested, 2)) != [(TOPIC, PARTITION)]:
        return DescribeQuorumResponse(topics=mapped_array(_unknown, request.topics))
    leader = context.quorum.state
    if not isinstance(leader, Leader):
        refused = _refused(PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return DescribeQuorumResponse(topics=[TopicData(topic_name=TOPIC, partitions=[refused])])
    leader.forget_idle_observers(now_ms)
    partition = PartitionData(
        partition_index=PARTITION,
        leader_id=leader.own_key.node_id,
        leader_epoch=leader.epoch,
        high_watermark=-1 if leader.high_watermark is None else leader.high_watermark,
        current_voters=[
            _replica(leader, progress, api_version, now_ms) for _, progress in sorted(leader.voters.items())
        ],
        observers=[_replica(leader, progress, api_version, now_ms) for _, progress in sorted(leader.observers.items())],
    )
    return DescribeQuorumResponse(
        topics=[TopicData(topic_name=TOPIC, partitions=[partition])],
        nodes=_nodes(context.quorum.voters) if api_version >= _KEYS_SINCE else [],
    )


def _replica(leader: Leader, progress: ReplicaProgress, api_version: int, now_ms: int) -> ReplicaState:
    is_own = progress.key.node_id == leader.own_key.node_id
    replica = ReplicaState(
        replica_id=progress.key.node_id,
        log_end_offset=-1 if progress.end_offset is None else progress.end_offset,
        last_fetch_timestamp=now_ms if is_own else progress.last_fetch_ms,
        last_caught_up_timestamp=now_ms if is_own else progress.last_caught_up_ms,
    )
    if api_version >= _KEYS_SINCE:
        replica.replica_directory_id = progress.key.directory_id
    return replica


def _nodes(voters: VoterSet) -> list[Node]:
    return [
        Node(
            node_id=node_id,
            listeners=[
                Listener(name=name, host=endpoint.host, port=endpoint.port)
                for name, endpoint in voters.nodes[node_id].listeners.items()
            ],
        )
        for node_id in voters.ids
    ]


def _unknown(topic: RequestedTopic) -> TopicData:
    partitions = mapped_array(
        lambda each: _refused(each.partition_index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), topic.partitions
    )
    return TopicData(topic_name=topic.topic_name, partitions=partitions)


def _refused(partition: int, error: ErrorCode) -> PartitionData:
    return PartitionData(partition_index=partition, error_code=error, leader_id=-1, leader_epoch=-1)
