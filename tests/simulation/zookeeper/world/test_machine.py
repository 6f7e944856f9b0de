"""What a node knows, by what it has been answered: checkers must not take it to know more, or less."""

from falkirk.metadata.zookeeper.broker_znode import BrokerEndpoint, BrokerZnode, encode_broker
from falkirk.simulation.zookeeper.world.machine import Known
from falkirk.versions.supported_range import SupportedRange
from falkirk.zookeeper_node.session.operations import Children, Create, Failed, GetChildren, GetData, KeeperError, Znode

FEATURES = "/features"
GOOD = Znode(b'{"version":1,"status":1,"features":{}}', 0, 5)
GC_1 = {"gc": SupportedRange(1, 1)}


def broker(czxid: int) -> Znode:
    endpoint = BrokerEndpoint("PLAINTEXT", "PLAINTEXT", "host", 9092)
    return Znode(encode_broker(BrokerZnode((endpoint,), None, 0, GC_1)), 0, czxid, ephemeral_owner=1)


def known(*told) -> Known:
    found = Known()
    for now_ms, (operation, answer) in enumerate(told):
        found.record(operation, answer, FEATURES, now_ms)
    return found


READ = GetData("/brokers/ids/2", watch=True)
GONE = Failed(KeeperError.NO_NODE)


def test_a_broker_counts_from_when_it_was_read_first():
    assert list(known((READ, broker(7)), (READ, broker(7))).live()) == [(2, GC_1, 0)]
    assert list(known((READ, broker(7)), (READ, broker(8))).live()) == [(2, GC_1, 1)]


def test_a_broker_is_over_when_its_znode_is_gone_or_is_not_listed():
    for over in ((READ, GONE), (GetChildren("/brokers/ids"), Children(("1",)))):
        found = known((READ, broker(7)), over)
        assert list(found.live()) == []
        assert found.over == [(1, GC_1)]


def test_a_broker_whose_znode_cannot_be_read_is_none():
    assert list(known((READ, Znode(b"{", 0, 7))).live()) == []


def test_an_answer_that_was_lost_tells_nothing():
    found = known((GetData(FEATURES), GOOD), (GetData(FEATURES), Failed(KeeperError.CONNECTION_LOSS)))
    assert (found.features, found.is_malformed) == (GOOD, False)
    assert found.state is not None


def test_features_that_cannot_be_read_leave_what_was_read_before():
    found = known((GetData(FEATURES), GOOD), (GetData(FEATURES), Znode(b"{", 1, 5)))
    assert found.is_malformed
    assert found.state is not None


def test_features_are_gone_as_soon_as_no_server_that_lags_behind_is_asked():
    wrote = Create("/brokers/ids", b""), Failed(KeeperError.NODE_EXISTS)
    assert known((GetData(FEATURES), GOOD), (GetData(FEATURES), GONE)).state is not None
    assert known((GetData(FEATURES), GOOD), wrote, (GetData(FEATURES), GONE)).state is None
