"""A broker may end as the second of its id only if it knew of another one all the while."""

from types import SimpleNamespace

import pytest

from falkirk.metadata.zookeeper.broker_znode import broker_path
from falkirk.node.effects import Stop
from falkirk.simulation.history.invariant import InvariantViolatedError
from falkirk.simulation.machine.clock import Clock
from falkirk.simulation.zookeeper.checkers.nodes_stop_for_a_reason import NodesStopForAReason
from falkirk.simulation.zookeeper.world.machine import SESSION_TIMEOUT_MS
from falkirk.zookeeper_node.session.operations import Create, Done, Failed, GetData, KeeperError, Znode

OWN, OTHER = 1, 2
PATH = broker_path(4)
CREATE, GET = Create(PATH, b"", ephemeral=True), GetData(PATH, watch=True)
OTHERS = Znode(b"", 0, 5, OTHER)


class Story:
    """A broker hears answers about its own znode, each a third of a session after the one before."""

    def __init__(self, *answers):
        clock = Clock()
        self.checker = NodesStopForAReason(clock)
        self.machine = SimpleNamespace(
            node_id=4,
            name="b4",
            link=SimpleNamespace(session_id=OWN),
            host=SimpleNamespace(starts=1),
            has_features=False,
            alone_since_ms=None,
        )
        for operation, answer in answers:
            self.checker.heard(self.machine, operation, answer)
            clock.now_ms += SESSION_TIMEOUT_MS // 3 + 1

    def stopped(self):
        return self.checker.stopped(self.machine, Stop(1, "registered by another session"))


EXISTS = (CREATE, Failed(KeeperError.NODE_EXISTS))


def test_a_registration_that_stays_is_a_reason():
    assert Story(EXISTS, (GET, OTHERS), (GET, OTHERS)).stopped() == "second of its id"


@pytest.mark.parametrize(
    "gone", [(GET, Failed(KeeperError.NO_NODE)), (CREATE, Done(0)), (GET, Znode(b"", 0, 5, OWN))], ids=str
)
def test_one_that_was_read_to_be_gone_meanwhile_is_none(gone):
    with pytest.raises(InvariantViolatedError, match="NodesStopForAReason"):
        Story(EXISTS, (GET, OTHERS), gone, EXISTS, (GET, OTHERS)).stopped()
    assert Story(EXISTS, gone, EXISTS, (GET, OTHERS), (GET, OTHERS)).stopped() == "second of its id"
