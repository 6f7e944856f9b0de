"""Faults of nodes."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from kafka_node import KafkaNode


@contextmanager
def killed(node: KafkaNode) -> Iterator[None]:
    """Kill the node, and restart it at the end."""
    node.kill()
    yield
    node.start()
    node.wait_started()


@contextmanager
def cut_off(node: KafkaNode) -> Iterator[None]:
    """Pause the node's process during the block."""
    assert node.pid is not None
    os.kill(node.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(node.pid, signal.SIGCONT)
