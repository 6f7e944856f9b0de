"""What the parts of replication share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.image.metadata_image import EMPTY
from falkirk.node.broker.replication.settings import ReplicationSettings
from falkirk.protocol.endpoint import Endpoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.image.broker_registration import BrokerRegistration
    from falkirk.node.config.node_config import NodeConfig
    from falkirk.node.effects import Effect
    from falkirk.node.step import Step


class ReplicationContext:
    """`image`: the metadata that replicas were last given; while an image is published it is newer than the node's.

    `broker_epoch`: of this broker's registration; set by the broker role.
    """

    def __init__(self, step: Step, effects: Callable[[Effect], None]) -> None:
        self._step = step
        self.wake = step.wake
        self.works = step.works
        self.random = step.random
        self.config: NodeConfig = step.config
        self.settings = ReplicationSettings.of(step.config)
        self.node_id = step.config.node_id
        self.image = EMPTY
        self.broker_epoch = -1
        # The controlled shutdown has begun.
        self.is_shutting_down = False
        self.effects = effects

    @property
    def now_ms(self) -> int:
        """The time of the step that runs."""
        return self._step.now_ms

    def alive(self, broker_id: int) -> BrokerRegistration | None:
        """Return a broker that is registered and not fenced, else None."""
        broker = self.image.cluster.brokers.get(broker_id)
        return None if broker is None or broker.fenced else broker


def endpoint_of(context: ReplicationContext, broker_id: int) -> Endpoint | None:
    """Return where a registered broker, fenced or not, listens for other brokers; None if it does not."""
    broker = context.image.cluster.brokers.get(broker_id)
    name = context.settings.inter_broker_listener_name
    points = () if broker is None else broker.end_points
    for point in points:
        if point.name == name:
            return Endpoint(point.host, point.port)
    return None
