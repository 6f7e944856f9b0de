"""What the parts of a replica share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import ErrorCode
from falkirk.raft.facts import RaftFact
from falkirk.raft.output import OutboundReply
from falkirk.raft.peers import Destination

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.schema import WireMessage
    from falkirk.raft.config import RaftConfig
    from falkirk.raft.peers import Peers
    from falkirk.raft.quorum import Quorum
    from falkirk.raft.raft_log import RaftLog

TOPIC: Final = "__cluster_metadata"
TOPIC_ID: Final = bytes(15) + b"\x01"
PARTITION: Final = 0


@dataclass(slots=True, kw_only=True)
class RaftContext:
    """One replica's state, its log, and what it has to say."""

    config: RaftConfig
    random: Chance
    log: RaftLog
    quorum: Quorum
    peers: Peers
    facts: list[RaftFact]
    # Whether a replica, by its node id, can take in a record that lowers metadata.version.
    follows_lowerings: Callable[[int], bool] = lambda _node_id: True
    replies: list[OutboundReply] = field(default_factory=list)
    # Asked to stop: no more elections, and no more leading.
    is_shutting_down: bool = False

    def reply(self, token: int, message: WireMessage) -> None:
        """Answer a request."""
        self.replies.append(OutboundReply(token=token, message=message))

    def tell(self, level: str, event: str, **fields: object) -> None:
        """Note something for the log."""
        self.facts.append(RaftFact(level=level, event=event, fields=fields))

    def is_foreign(self, cluster_id: str | None) -> bool:
        """Say whether a request names another cluster. One that names none is let through, as by Kafka."""
        return cluster_id is not None and cluster_id != self.config.cluster_id

    def voter_destination(self, node_id: int) -> Destination | None:
        """Give where a voter listens for the quorum, if the log or the configuration knows."""
        node = self.quorum.voters.nodes.get(node_id)
        endpoint = None if node is None else node.listeners.get(self.quorum.listener)
        return None if endpoint is None else Destination(node_id, endpoint)

    def leader_error(self, request_epoch: int) -> ErrorCode:
        """Check a request that only the leader of its epoch may answer."""
        epoch = self.quorum.epoch
        if request_epoch < epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if request_epoch > epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if not self.quorum.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE
