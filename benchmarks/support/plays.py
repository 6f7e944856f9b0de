"""What the plays of the longest step share: a controller with an image, a broker that starts, lines, errors."""

from collections.abc import Iterable
from typing import Any

from falkirk.metadata.image.metadata_image import MetadataImage
from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.node.step import STEP_MS_MAX
from falkirk.protocol.error_codes import ErrorCode
from falkirk.server.garbage_collector import settle_memory
from support.large_image import directory
from support.line import print_step
from support.stepped_cluster import CONTROLLER_ID, MeasuredNode, SteppedCluster, formatted_disk

HOUR_MS = 3_600_000


def active_controller(
    cluster: SteppedCluster, image: MetadataImage, snapshot: bytes, **settings: Any
) -> MeasuredNode:  # Any: of NodeConfig
    disk = formatted_disk(CONTROLLER_ID, directory(CONTROLLER_ID), snapshot=(image, snapshot))
    all_settings = {"broker_session_timeout_ms": HOUR_MS, **settings}
    node = cluster.add(CONTROLLER_ID, CONTROLLER, disk, **all_settings)
    settle_memory()
    cluster.run_until(lambda: node.node.is_active_controller)
    return node


def start_broker(cluster: SteppedCluster, broker_id: int, **settings: Any) -> MeasuredNode:  # Any: of NodeConfig
    """Start a broker with an empty directory, and wait until it is unfenced."""
    broker = cluster.add(broker_id, BROKER, formatted_disk(broker_id, directory(broker_id)), **settings)
    await_running(cluster, broker)
    return broker


def await_running(cluster: SteppedCluster, broker: MeasuredNode) -> None:
    def is_running() -> bool:
        return broker.node.broker is not None and broker.node.broker.state is BrokerState.RUNNING

    cluster.run_until(is_running)


def print_node(what: str, node: MeasuredNode) -> None:
    print_step(what, node.longest.seconds, work=node.longest.work, limit_s=STEP_MS_MAX / 1000)


def check(answer: Any) -> None:  # Any: a response
    """Raise RuntimeError if a response or a part of it is an error."""
    for found in _errors(answer):
        raise RuntimeError(f"{type(answer).__name__}: {ErrorCode(found.error_code).name}: {found}"[:500])


def _errors(message: Any) -> Iterable[Any]:  # Any: parts of a response
    if getattr(message, "error_code", 0):
        yield message
    for name in getattr(message, "__struct_fields__", ()):
        value = getattr(message, name)
        if isinstance(value, list):
            for each in value:
                yield from _errors(each)
