"""A broker of one kind goes on with the transactions that one of the other kind left open on its disk.

What a real broker makes of a real one's is the control, and with `--update-golden` becomes tests/data/transactions.
"""

from pathlib import Path

import pytest
from falkirk_node import FalkirkNode
from kafka_cluster import Clusters
from kafka_node import KafkaNode
from recorded_story import different_steps, write_steps
from socket_asker import SocketAsker
from transaction_exchange import EXCHANGED, TransactionExchange, golden, golden_file
from transaction_story import SETTINGS

from falkirk.versions.release import Release

pytestmark = pytest.mark.interop
QUICK = ("4.3.1", 2)
KINDS = {"kafka": KafkaNode, "falkirk": FalkirkNode}


class NodeAsker(SocketAsker):
    """A client of the only broker; it connects again when that has been replaced."""

    own_id, other_id = 1, 2


WAYS = (("kafka", "kafka"), ("kafka", "falkirk"), ("falkirk", "kafka"))


@pytest.mark.parametrize(
    ("way", "release"),
    [
        pytest.param(
            way,
            release,
            id=f"{'-'.join(way)}-{release[0]}-level-{release[1]}",
            marks=[] if release == QUICK and way[0] != way[1] else [pytest.mark.full],
        )
        for way in WAYS
        for release in EXCHANGED
    ],
)
def test_transactions_go_on_with_the_next_broker(
    way: tuple[str, str], release: tuple[str, int], clusters: Clusters, update_golden: bool
) -> None:
    (first, second), (name, level) = way, release
    cluster = clusters.new(name, settings=SETTINGS)
    cluster.nodes[1] = first_node = as_kind(cluster.nodes[1], KINDS[first])
    has_levels = name.startswith("4.")
    cluster.format(arguments=["--feature", "transaction.version=0"] if has_levels else [])
    first_node.start()
    first_node.wait_started()
    asker = NodeAsker(first_node.layout.broker_port)
    exchange = TransactionExchange(Release.parse(name), asker)
    exchange.before(level)
    first_node.stop()
    cluster.nodes[1] = second_node = as_kind(first_node, KINDS[second])
    second_node.start()
    second_node.wait_started()
    asker.reconnect()
    exchange.after()
    asker.close()
    if update_golden and first == second == "kafka":
        write_steps(golden_file(name, level), exchange.steps)
    # As in `transaction_story.DIFFERENCES`: 3.9 tells the start of a transaction that is over.
    known = {"describe: at the end"} if second == "falkirk" and not has_levels else set()
    assert different_steps(exchange.steps, golden(name, level), known=known) == []


def as_kind(node: KafkaNode, kind: type[KafkaNode]) -> KafkaNode:
    """Return a node of this kind on the same directories and ports."""
    home = Path(f"{node.home}-{kind.__name__}")
    return kind(node.release, node.layout, node.quorum, home=home, settings=node.settings)
