"""What the parts of a replica share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import ErrorCode
from falkirk.raft.facts import RaftFact
from falkirk.raft.output import OutboundReply
from falkirk.raft.request_manager import Destination

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage
    from falkirk.raft.config import RaftConfig
    from falkirk.raft.quorum import Quorum
    from falkirk.raft.raft_log import RaftLog
    from falkirk.raft.request_manager import RequestManager

TOPIC: Final = "__cluster_metadata"
TOPIC_ID: Final = bytes(15) + b"\x01"
PARTITION: Final = 0


@dataclass(slots=True, kw_only=True)
class RaftContext:
    """The replica's state and log, and the replies and facts that await the driver."""

    config: "RaftConfig"
    random: "Chance"
    log: "RaftLog"
    quorum: "Quorum"
    requests: "RequestManager"
    facts: list[RaftFact]
    # Where the controllers that have registered listen for the quorum, by node id; voters may be among them.
    registered_controllers: "Mapping[int, Endpoint]" = field(default_factory=dict)
    # Whether this replica's node could serve as soon as it led.
    is_ready_to_lead: "Callable[[], bool]" = lambda: True
    replies: list[OutboundReply] = field(default_factory=list)
    # No more elections, and no more leading.
    is_shutting_down: bool = False

    def reply(self, token: int, message: WireMessage) -> None:
        """Reply to a request."""
        self.replies.append(OutboundReply(token=token, message=message))

    def add_fact(self, level: str, event: str, **fields: object) -> None:
        """Add a fact for the node's log."""
        self.facts.append(RaftFact(level=level, event=event, fields=fields))

    def is_foreign(self, cluster_id: str | None) -> bool:
        """Return whether a request names another cluster. As in Kafka, one that names none is accepted."""
        return cluster_id is not None and cluster_id != self.config.cluster_id

    def voter_destination(self, node_id: int) -> Destination | None:
        """Return where a voter listens for the quorum; None if neither log nor configuration has it."""
        node = self.quorum.voters.nodes.get(node_id)
        endpoint = None if node is None else node.listeners.get(self.quorum.listener)
        return None if endpoint is None else Destination(node_id, endpoint)

    def leader_error(self, request_epoch: int) -> ErrorCode:
        """Return the error of a request that only the leader of its epoch may answer."""
        epoch = self.quorum.epoch
        if request_epoch < epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if request_epoch > epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if not self.quorum.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE
