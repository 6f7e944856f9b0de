"""What happens to nodes in tests."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from kafka_node import KafkaNode


@contextmanager
def killed(node: KafkaNode) -> Iterator[None]:
    """The node is killed hard, and started again at the end."""
    node.kill()
    yield
    node.start()
    node.wait_started()


@contextmanager
def cut_off(node: KafkaNode) -> Iterator[None]:
    """The node hears and says nothing for a while, and does not notice."""
    assert node.pid is not None
    os.kill(node.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(node.pid, signal.SIGCONT)
