"""Real brokers get the requests of `transaction_story`; their responses are those that ours are compared with.

With `--update-golden` they become tests/data/transactions.
"""

from typing import Any

import pytest
from data_plane_asker import TwoBrokersAsker
from kafka_cluster import Clusters, KafkaCluster
from kafka_node import BROKER, CONTROLLER
from recorded_story import write_steps
from socket_asker import SocketAsker
from transaction_story import (
    NODE_SETTINGS,
    OTHERS,
    RECORDED,
    SETTINGS,
    TransactionStory,
    golden,
    golden_file,
    unexpected,
)

from falkirk.versions.release import Release

pytestmark = pytest.mark.interop


class ClusterAsker(SocketAsker):
    """A client of the first broker of two; the second one starts when it is asked to."""

    own_id, other_id = 1, 2

    def __init__(self, cluster: KafkaCluster) -> None:
        super().__init__(cluster.nodes[self.own_id].layout.broker_port)
        self._other = cluster.nodes[self.other_id]

    def start_other(self) -> None:
        """As TransactionAsker."""
        self._other.start()
        self._other.wait_started()

    def kill_other(self) -> None:
        """As TransactionAsker."""
        self._other.kill()


def responses(clusters: Clusters, name: str, level: int) -> list[dict[str, Any]]:
    cluster = clusters.new(name, {1: (BROKER, CONTROLLER), 2: (BROKER,)}, settings=SETTINGS)
    has_levels = name.startswith("4.")
    cluster.format(arguments=["--feature", "transaction.version=0"] if has_levels else [])
    node = cluster.nodes[1]
    node.start()
    node.wait_started()
    asker = ClusterAsker(cluster)
    reported = TransactionStory(Release.parse(name), asker).play(level)
    asker.close()
    return reported


# On a busy machine a real broker may answer a fetch of the last steps before it has written all markers.
@pytest.mark.full
@pytest.mark.parametrize(("name", "level"), RECORDED)
def test_a_real_coordinator_answers_as_it_did(name: str, level: int, clusters: Clusters, update_golden: bool) -> None:
    reported = responses(clusters, name, level)
    if update_golden:
        write_steps(golden_file(name, level), reported)
    assert reported == golden(name, level)


@pytest.mark.full
@pytest.mark.parametrize(("name", "level"), OTHERS)
def test_a_real_coordinator_answers_as_ours(name: str, level: int, clusters: Clusters) -> None:
    real = responses(clusters, name, level)
    ours = TransactionStory(Release.parse(name), TwoBrokersAsker(name, **NODE_SETTINGS)).play(level)
    assert unexpected(name, ours=ours, real=real) == []
