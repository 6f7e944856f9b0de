"""What becomes of a write whose answer is lost, and what whoever asked for it is told (KIP-584, guarantees)."""

import pytest
from controller_world import ControllerWorld
from zookeeper_world import delete_by_hand, depose_by_hand, write_by_hand

from falkirk.protocol.error_codes import ErrorCode
from falkirk.simulation.zookeeper.world.ensemble import Ensemble
from falkirk.zookeeper_node.session.exchange import SessionChanged, SessionState
from falkirk.zookeeper_node.session.operations import GetData, KeeperError, Multi

NONE, INVALID, FAILED = ErrorCode.NONE, ErrorCode.INVALID_REQUEST, ErrorCode.FEATURE_UPDATE_FAILED
NOT_CONTROLLER, TIMED_OUT = ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT


@pytest.fixture
def ensemble():
    return Ensemble()


@pytest.fixture
def world(ensemble):
    """A cluster of brokers that run group_coordinator 1 to 3, in which level 1 is finalized; the node is elected."""
    return ControllerWorld.at_level_1(ensemble)


# --- A lost connection


@pytest.mark.parametrize("carried_out", [0, 1], ids=["before", "after"])
@pytest.mark.parametrize("kind", [GetData, Multi])
def test_a_lost_connection_is_found_out_about(world, kind, carried_out):
    question = world.ask_for(group_coordinator=2)
    world.do_until(kind)
    world.lose_connection(carried_out=carried_out)
    assert not world.asked
    assert not question.is_answered
    world.reconnect()
    world.do_all()
    assert question.results == {"group_coordinator": NONE}
    assert world.epoch() == 1, "it was written once"


def test_an_answer_that_is_lost_again_and_again_is_found_out_about(world):
    question = world.ask_for(group_coordinator=2)
    world.do_until(Multi)
    for carried_out in (1, 0, 1, 1):
        world.lose_connection(carried_out=carried_out)
        world.reconnect()
        while not isinstance(world.next, Multi):
            world.do()
    world.do()
    assert isinstance(world.next, GetData), "refused, because it stands"
    world.lose_connection()
    world.reconnect()
    world.do_all()
    assert question.results == {"group_coordinator": NONE}
    assert world.epoch() == 1


def test_whoever_wrote_before_the_lost_write_makes_it_be_decided_anew(ensemble, world):
    question = world.ask_for(group_coordinator=2)
    world.do_until(Multi)
    world.lose_connection(carried_out=0)
    write_by_hand(ensemble, "/features", b'{"version":1,"status":1,"features":{}}')
    world.reconnect()
    world.do_all()
    assert question.results == {"group_coordinator": NONE}
    assert world.epoch() == 2


@pytest.mark.parametrize("carried_out", [0, 1], ids=["before", "after"])
def test_what_was_written_over_twice_may_have_been_the_lost_write(ensemble, world, carried_out):
    question = world.ask_for(group_coordinator=2)
    world.do_until(Multi)
    world.lose_connection(carried_out=carried_out)
    for _ in range(2):
        write_by_hand(ensemble, "/features", b'{"version":1,"status":1,"features":{}}')
    world.reconnect()
    world.do_all()
    assert question.error[0] is TIMED_OUT


@pytest.mark.parametrize("carried_out", [0, 1], ids=["before", "after"])
def test_a_lost_write_to_a_znode_that_was_deleted_is_never_known(ensemble, world, carried_out):
    question = world.ask_for(group_coordinator=2)
    world.do_until(Multi)
    world.lose_connection(carried_out=carried_out)
    delete_by_hand(ensemble, "/features")
    world.reconnect()
    world.do_all()
    assert question.error[0] is TIMED_OUT


@pytest.mark.parametrize("carried_out", [0, 1], ids=["before", "after"])
def test_a_lost_write_to_a_znode_that_was_made_anew_is_never_known(ensemble, world, carried_out):
    question = world.ask_for(group_coordinator=2)
    world.do_until(Multi)
    world.lose_connection(carried_out=carried_out)
    delete_by_hand(ensemble, "/features")
    for _ in range(2):
        write_by_hand(ensemble, "/features", b'{"version":1,"status":1,"features":{}}')
    world.reconnect()
    world.do_all()
    assert world.epoch() == 1, "the version that ours would have"
    assert question.error[0] is TIMED_OUT


@pytest.mark.parametrize("carried_out", [0, 1], ids=["before", "after"])
def test_a_lost_write_that_may_have_been_written_over_before_its_controller_was_deposed_is_never_known(
    ensemble, world, carried_out
):
    question = world.ask_for(group_coordinator=2)
    world.do_until(Multi)
    world.lose_connection(carried_out=carried_out)
    for _ in range(2):
        write_by_hand(ensemble, "/features", b'{"version":1,"status":1,"features":{}}')
    depose_by_hand(ensemble)
    world.reconnect()
    world.do_all()
    assert question.error[0] is TIMED_OUT


def test_a_write_is_asked_for_once_however_often_the_node_goes_on(world):
    world.ask_for(group_coordinator=2)
    world.do_until(Multi)
    world.role.tick(world.now_ms)
    world.role.recheck()
    assert len(world.asked) == 1


@pytest.mark.parametrize("carried_out", [0, 1], ids=["before", "after"])
def test_a_lost_write_of_a_controller_that_was_deposed_is_found_out_about(ensemble, world, carried_out):
    question = world.ask_for(group_coordinator=2)
    world.do_until(Multi)
    world.has_watches = False
    world.lose_connection(carried_out=carried_out)
    depose_by_hand(ensemble)
    world.session.receive(SessionChanged(SessionState.CONNECTED, world.session_id))
    # The election has asked for `/controller` first; it is answered late.
    late = world.asked.popleft()
    world.do()
    world.do()
    world.asked.append(late)
    world.do_all()
    if carried_out:
        assert question.results == {"group_coordinator": NONE}
    else:
        assert question.error[0] is NOT_CONTROLLER
        assert world.epoch() == 0


def test_the_first_write_is_asked_for_again_if_its_connection_is_lost(ensemble):
    world = ControllerWorld(ensemble)
    world.enter()
    world.do_until_elected()
    world.do_until(Multi)
    world.lose_connection(carried_out=1)
    world.reconnect()
    world.do_all()
    assert (world.finalized(), world.epoch()) == ({"group_coordinator": (1, 3)}, 0)


# --- What ZooKeeper refuses


def test_a_read_only_server_is_waited_for(world):
    question = world.ask_for(group_coordinator=2)
    world.do_until(Multi)
    world.session.receive(SessionChanged(SessionState.READ_ONLY, world.session_id))
    world.refuse(KeeperError.READ_ONLY, part=1)
    assert not world.asked
    world.reconnect()
    world.do_all()
    assert question.results == {"group_coordinator": NONE}


def test_a_read_only_server_is_not_waited_for_longer_than_the_request_allows(world):
    question = world.ask_for(group_coordinator=2, timeout_ms=500)
    world.do_until(Multi)
    world.session.receive(SessionChanged(SessionState.READ_ONLY, world.session_id))
    world.refuse(KeeperError.READ_ONLY, part=1)
    world.wait(500)
    assert question.error[0] is TIMED_OUT
    world.reconnect()
    world.do_all()
    assert world.epoch() == 0


def test_a_write_that_zookeeper_refuses_fails_what_was_valid_and_is_told(world):
    question = world.ask_for(group_coordinator=2, unheard_of=1)
    world.do_until(Multi)
    world.refuse(KeeperError.NO_AUTH, part=1)
    assert question.results == {"group_coordinator": FAILED, "unheard_of": FAILED}
    assert question.message_of("group_coordinator") == "znode /features: it cannot be written: NoAuth"
    (fact,) = world.facts_of("features-not-finalized")
    assert fact.level == "error"


def test_a_lost_write_that_is_refused_when_asked_for_again_may_stand(world):
    question = world.ask_for(group_coordinator=2)
    world.do_until(Multi)
    world.lose_connection(carried_out=1)
    world.reconnect()
    world.do_until(Multi)
    world.refuse(KeeperError.OTHER, part=1, detail="Unimplemented")
    assert question.error[0] is TIMED_OUT


def test_a_znode_that_cannot_be_read_fails_updates(world):
    question = world.ask_for(group_coordinator=2)
    world.do_until(GetData)
    world.refuse(KeeperError.NO_AUTH)
    assert question.error == (FAILED, "znode /features: it cannot be read: NoAuth")


def test_a_znode_whose_parent_is_not_there_cannot_be_made(ensemble):
    world = ControllerWorld(ensemble, path="/a/features")
    world.enter()
    world.do_all()
    (fact,) = world.facts_of("features-not-finalized")
    assert fact.fields["reason"] == "znode /a/features: it cannot be written: NoNode"
    question = world.ask_for(group_coordinator=2)
    world.do_all()
    assert question.error == (FAILED, "znode /a/features: there is none")
