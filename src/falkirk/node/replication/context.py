"""What the parts of replication share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.image.metadata_image import EMPTY
from falkirk.node.replication.settings import ReplicationSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.image.broker_registration import BrokerRegistration
    from falkirk.node.config import NodeConfig
    from falkirk.node.effects import Effect
    from falkirk.node.node_state import NodeState


class ReplicationContext:
    """`image`: the metadata that the replicas were last told, which while they are told is newer than the node's.

    `broker_epoch`: of this broker's registration; set by whoever keeps it registered.
    """

    def __init__(self, state: NodeState, effects: Callable[[Effect], None]) -> None:
        self.state = state
        self.config: NodeConfig = state.config
        self.settings = ReplicationSettings.of(state.config)
        self.node_id = state.config.node_id
        self.image = EMPTY
        self.broker_epoch = -1
        # The controlled shutdown has begun.
        self.is_shutting_down = False
        self.effects = effects

    @property
    def now_ms(self) -> int:
        """The time of the step that runs."""
        return self.state.now_ms

    def alive(self, broker_id: int) -> BrokerRegistration | None:
        """Give a broker that is registered and not fenced."""
        broker = self.image.cluster.brokers.get(broker_id)
        return None if broker is None or broker.fenced else broker
