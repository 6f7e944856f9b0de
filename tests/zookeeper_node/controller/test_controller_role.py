"""What is answered when a controller ceases to be it, or time is over, between any two steps of an update."""

import pytest
from controller_world import ControllerWorld
from zookeeper_world import delete_by_hand, depose_by_hand, write_by_hand

from falkirk.protocol.error_codes import ErrorCode
from falkirk.simulation.zookeeper.world.ensemble import Ensemble
from falkirk.zookeeper_node.session.exchange import SessionChanged, SessionState, ZooKeeperAnswered
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


# --- Another controller


def test_a_write_of_an_older_epoch_is_refused_and_the_controller_resigns(ensemble, world):
    world.has_watches = False
    question, queued = world.ask_for(group_coordinator=2), world.ask_for(group_coordinator=3)
    world.do_until(Multi)
    depose_by_hand(ensemble)
    world.do()
    assert question.error[0] is NOT_CONTROLLER
    assert queued.error[0] is NOT_CONTROLLER
    assert world.epoch() == 0
    assert [asked.operation.path for asked in world.asked] == ["/controller"], "nothing new is begun"
    world.do_all()
    assert world.role.controller_id == 99


@pytest.mark.parametrize("kind", [GetData, Multi])
def test_updates_that_wait_when_the_controller_changes_are_not_applied(ensemble, world, kind):
    first, second = world.ask_for(group_coordinator=2), world.ask_for(group_coordinator=3)
    world.do_until(kind)
    depose_by_hand(ensemble)
    world.do_all()
    assert first.error[0] is NOT_CONTROLLER
    assert second.error[0] is NOT_CONTROLLER
    assert world.epoch() == 0


def test_a_write_that_stood_before_its_controller_resigned_is_a_success(ensemble, world):
    question = world.ask_for(group_coordinator=2)
    world.do_until(Multi)
    delete_by_hand(ensemble, "/controller")
    world.do_all()
    assert question.results == {"group_coordinator": NONE}
    assert world.finalized() == {"group_coordinator": (1, 2)}
    assert world.role.election.epoch == 2


def test_what_stands_is_told_though_the_controller_resigns_before_its_cache_knows(ensemble, world):
    world.cached_epoch = 0
    question = world.ask_for(group_coordinator=2)
    world.do_all()
    depose_by_hand(ensemble)
    world.do_all()
    assert question.results == {"group_coordinator": NONE}


# --- A controller that has resigned while its write is under way


def resign_over_a_write(world: ControllerWorld, *, carried_out: int) -> None:
    """Lose the answer to a write, and learn of another controller before that of the second try."""
    world.do_until(Multi)
    world.lose_connection(carried_out=carried_out)
    depose_by_hand(world.ensemble)
    world.reconnect()
    world.do()
    assert world.role.controller_id == 99
    assert isinstance(world.next, Multi)


@pytest.mark.parametrize("carried_out", [0, 1], ids=["before", "after"])
def test_what_became_of_the_write_of_a_controller_that_has_resigned_is_found_out(world, carried_out):
    world.cached_epoch = 0
    question = world.ask_for(group_coordinator=2)
    resign_over_a_write(world, carried_out=carried_out)
    assert not question.is_answered
    world.do_all()
    if carried_out:
        assert question.results == {"group_coordinator": NONE}, "its cache need not know"
    else:
        assert question.error[0] is NOT_CONTROLLER
    assert world.epoch() == carried_out


def test_a_controller_that_has_resigned_asks_for_its_write_no_more(world):
    question = world.ask_for(group_coordinator=2)
    resign_over_a_write(world, carried_out=0)
    world.lose_connection()
    assert question.error[0] is TIMED_OUT
    world.reconnect()
    world.do_all()
    assert world.epoch() == 0


def test_a_controller_that_has_resigned_answers_in_time(world):
    question = world.ask_for(group_coordinator=2, timeout_ms=500)
    resign_over_a_write(world, carried_out=1)
    assert world.role.next_wakeup_ms == world.now_ms + 500
    world.wait(500)
    assert question.error[0] is TIMED_OUT
    world.do_all()
    world.role.tick(world.now_ms)
    assert question.count == 1
    assert world.role.next_wakeup_ms is None


# --- An expired session


@pytest.mark.parametrize("carried_out", [0, 1], ids=["before", "after"])
def test_nobody_knows_what_became_of_a_write_when_the_session_expires(world, carried_out):
    question, queued = world.ask_for(group_coordinator=2), world.ask_for(group_coordinator=3)
    world.do_until(Multi)
    world.expire(carried_out=carried_out)
    assert question.error[0] is TIMED_OUT
    assert queued.error[0] is NOT_CONTROLLER


def test_an_update_whose_write_was_not_asked_for_is_not_applied_when_the_session_expires(world):
    question = world.ask_for(group_coordinator=2)
    world.do_until(GetData)
    world.expire()
    assert question.error[0] is NOT_CONTROLLER


def test_a_write_that_waits_for_a_server_that_takes_it_is_not_applied_when_the_session_expires(world):
    question = world.ask_for(group_coordinator=2)
    world.do_until(Multi)
    world.session.receive(SessionChanged(SessionState.READ_ONLY, world.session_id))
    world.refuse(KeeperError.READ_ONLY, part=1)
    world.expire()
    assert question.error[0] is NOT_CONTROLLER


def test_a_new_session_is_a_new_election_and_nothing_is_left_of_the_old(world):
    world.ask_for(group_coordinator=2)
    world.do_until(Multi)
    world.expire(carried_out=1)
    world.enter()
    question = world.ask_for(group_coordinator=3)
    assert question.error[0] is NOT_CONTROLLER, "not yet elected"
    world.do_all()
    assert world.role.election.epoch == 2
    question = world.ask_for(group_coordinator=3)
    world.do_all()
    assert question.results == {"group_coordinator": NONE}


# --- Time


def test_an_update_that_waits_too_long_for_its_turn_is_never_applied(world):
    first = world.ask_for(group_coordinator=2, timeout_ms=1000)
    second = world.ask_for(group_coordinator=3, timeout_ms=500)
    world.do_until(Multi)
    assert world.role.next_wakeup_ms == world.now_ms + 500
    world.wait(500)
    assert second.error[0] is TIMED_OUT
    world.do_all()
    assert first.results == {"group_coordinator": NONE}
    assert world.finalized() == {"group_coordinator": (1, 2)}


def test_an_update_that_was_not_written_in_time_is_never_applied(world):
    question = world.ask_for(group_coordinator=2, timeout_ms=500)
    world.do_until(GetData)
    world.wait(500)
    assert question.error[0] is TIMED_OUT
    world.do_all()
    assert world.epoch() == 0


def test_a_write_that_is_under_way_when_time_is_over_may_stand(world):
    question, queued = world.ask_for(group_coordinator=2, timeout_ms=500), world.ask_for(group_coordinator=2)
    world.do_until(Multi)
    world.wait(500)
    assert question.error[0] is TIMED_OUT
    world.do_all()
    assert question.count == 1
    assert world.finalized() == {"group_coordinator": (1, 2)}
    assert queued.results == {"group_coordinator": INVALID}


@pytest.mark.parametrize("carried_out", [0, 1], ids=["before", "after"])
def test_a_lost_write_is_not_asked_for_again_when_time_is_over(world, carried_out):
    question = world.ask_for(group_coordinator=2, timeout_ms=500)
    world.do_until(Multi)
    world.lose_connection(carried_out=carried_out)
    assert not question.is_answered
    world.wait(500)
    assert question.error[0] is TIMED_OUT
    world.reconnect()
    world.do_all()
    assert world.epoch() == carried_out


def test_a_write_that_is_lost_after_time_is_over_is_not_asked_for_again(world):
    question = world.ask_for(group_coordinator=2, timeout_ms=500)
    world.do_until(Multi)
    world.wait(500)
    world.lose_connection(carried_out=0)
    world.reconnect()
    world.do_all()
    assert question.count == 1
    assert world.epoch() == 0


def test_what_was_read_for_another_update_decides_nothing(ensemble, world):
    world.ask_for(group_coordinator=2, timeout_ms=500)
    late = world.asked.popleft()
    answer = ensemble.ask(world.session_id, late.operation)
    world.wait(500)
    write_by_hand(ensemble, "/features", b'{"version":1,"status":1,"features":{}}')
    question = world.ask_for(validate_only=True, group_coordinator=1)
    world.session.receive(ZooKeeperAnswered(late.request_id, answer))
    assert not question.is_answered
    world.do_all()
    assert question.results == {"group_coordinator": NONE}


def test_time_that_is_over_while_a_write_by_hand_is_found_decides_nothing_anew(ensemble, world):
    question = world.ask_for(group_coordinator=2, timeout_ms=500)
    world.do_until(Multi)
    write_by_hand(ensemble, "/features", b'{"version":1,"status":1,"features":{}}')
    world.wait(500)
    world.do_all()
    assert question.error[0] is TIMED_OUT
    assert world.epoch() == 1


def test_while_the_session_is_suspended_updates_wait_and_time_out(world):
    world.lose_connection()
    question = world.ask_for(group_coordinator=2, timeout_ms=500)
    patient = world.ask_for(group_coordinator=3, timeout_ms=5000)
    assert not world.asked
    world.wait(500)
    assert question.error[0] is TIMED_OUT
    world.reconnect()
    world.do_all()
    assert patient.results == {"group_coordinator": NONE}
    assert world.epoch() == 1


def test_a_request_that_has_no_time_is_not_begun(world):
    question = world.ask_for(group_coordinator=2, timeout_ms=0)
    assert question.error[0] is TIMED_OUT
    assert not world.asked
    assert world.role.next_wakeup_ms is None
