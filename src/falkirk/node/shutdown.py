"""The orderly end of a node: the broker role first, which may need the controller of this very node, then the voter.

A broker shuts down in order only with a controller's consent, and that takes a quorum. Where a whole cluster stops, the
last brokers would wait in vain (as they do in Kafka), so a voter that the others need for a majority stays until they
are gone, or a timeout has passed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.effects import Fact, Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from falkirk.metadata.image.cluster import ClusterImage
    from falkirk.node.broker.broker_role import BrokerRole
    from falkirk.node.effects import Effect
    from falkirk.node.sliced_work import SlicedWork
    from falkirk.node.step import CommittedMetadata, Step
    from falkirk.raft.replica import RaftReplica

# How long a leader waits at shutdown for the other voters, as Kafka's raft client does.
SHUTDOWN_TIMEOUT_MS: Final = 5_000


class Shutdown:
    """`has_begun`: an operator, or a failure of the broker, requested it. `run_quorum` executes the output of raft."""

    def __init__(
        self,
        step: Step,
        raft: RaftReplica,
        metadata: CommittedMetadata,
        broker: BrokerRole | None,
        *,
        run_quorum: Callable[[], object],
        effects: Callable[[Effect], None],
    ) -> None:
        self.has_begun = False
        # When the node ends even if others still need it.
        self.deadline_ms: int | None = None
        self._step = step
        self._raft = raft
        self._metadata = metadata
        self._broker = broker
        self._run_quorum = run_quorum
        self._effects = effects
        self._is_leaving_quorum = False
        self._closing: SlicedWork | None = None

    def begin(self) -> None:
        """Begin with the controlled shutdown of the broker, if there is one."""
        if not self.has_begun:
            self.has_begun = True
            self._effects(Fact("info", "shutdown-begins"))
            if self._broker is not None:
                self._broker.begin_shutdown()

    def advance(self) -> Stop | None:
        """Go on as far as possible; return the node's Stop when it has shut down."""
        if not self.has_begun:
            return None
        now_ms, broker, raft = self._step.now_ms, self._broker, self._raft
        if broker is not None and broker.state is not BrokerState.SHUTTING_DOWN:
            return None
        if self.deadline_ms is None:
            self.deadline_ms = now_ms + SHUTDOWN_TIMEOUT_MS
        is_late = now_ms >= self.deadline_ms
        voters = (self._metadata.image.cluster, raft.voters.keys(), self._step.config.node_id)
        if not self._is_leaving_quorum:
            if broker is not None and is_needed(*voters) and not is_late:
                return None
            self._is_leaving_quorum = True
            raft.shutdown(now_ms)
            self._run_quorum()
        if not (raft.is_shut_down or is_last(*voters) or is_late):
            return None
        if broker is not None:
            if self._closing is None:
                self._closing = self._step.works.start("close logs", broker.end_shutdown())
            if not self._closing.is_finished:
                return None
        failure = None if broker is None else broker.failure
        return Stop(0) if failure is None else Stop(1, failure)


def is_needed(cluster: ClusterImage, voters: Collection[int], node_id: int) -> bool:
    """Return whether other voters still serve, but are no majority without this one."""
    staying = _serving(cluster, voters, node_id)
    return 0 < staying <= len(voters) // 2 and node_id in voters


def is_last(cluster: ClusterImage, voters: Collection[int], node_id: int) -> bool:
    """Return whether no other voter serves, so that none can lead the quorum next."""
    return _serving(cluster, voters, node_id) == 0


def _serving(cluster: ClusterImage, voters: Collection[int], node_id: int) -> int:
    """Count the other voters except those whose brokers are fenced; whether a mere controller runs is not known."""
    others = (cluster.brokers.get(voter) for voter in voters if voter != node_id)
    return sum(broker is None or not broker.fenced for broker in others)
