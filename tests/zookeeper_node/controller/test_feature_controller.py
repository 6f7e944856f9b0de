"""What a controller on ZooKeeper makes of brokers and updates, and what it answers when things go wrong in between."""

import pytest
from controller_world import ControllerWorld
from zookeeper_world import delete_by_hand, write_by_hand

from falkirk.protocol.error_codes import ErrorCode
from falkirk.simulation.zookeeper.world.ensemble import Ensemble
from falkirk.versions.supported_range import SupportedRange
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


# --- Set-up


def test_a_new_cluster_starts_with_all_that_its_controller_supports(ensemble):
    world = ControllerWorld(ensemble, supported={"a": SupportedRange(2, 4), "b": SupportedRange(1, 1)})
    world.enter()
    world.do_all()
    assert world.finalized() == {"a": (2, 4), "b": (1, 1)}
    assert world.epoch() == 0


def test_a_cluster_below_the_migration_starts_disabled_and_refuses_updates(ensemble):
    world = ControllerWorld(ensemble, supports_features=False)
    world.enter()
    world.do_all()
    assert world.status() == 0
    question = world.ask_for(a=2)
    world.do_all()
    assert question.error == (INVALID, "Feature versioning system is disabled.")
    assert world.epoch() == 0


def test_below_the_migration_no_update_is_decided_though_the_cluster_cannot_be_disabled(ensemble):
    ControllerWorld.at_level_1(ensemble).expire()
    world = ControllerWorld(ensemble, supports_features=False)
    world.enter()
    world.do_until_elected()
    world.do_until(Multi)
    world.refuse(KeeperError.NO_AUTH, part=1)
    question = world.ask_for(group_coordinator=2)
    world.do_all()
    assert question.error == (INVALID, "Feature versioning system is disabled.")
    assert (world.status(), world.epoch()) == (1, 0)


def test_an_upgraded_cluster_is_enabled_with_nothing_finalized(ensemble):
    write_by_hand(ensemble, "/features", b'{"version":1,"status":0,"features":{}}')
    world = ControllerWorld(ensemble)
    world.enter()
    world.do_all()
    assert (world.status(), world.finalized(), world.epoch()) == (1, {}, 1)


def test_a_downgraded_cluster_is_disabled_and_emptied(ensemble):
    ControllerWorld.at_level_1(ensemble).expire()
    world = ControllerWorld(ensemble, supports_features=False)
    world.enter()
    world.do_all()
    assert (world.status(), world.finalized(), world.epoch()) == (0, {}, 1)


def test_a_failover_leaves_what_is_finalized_alone(ensemble, world):
    world.expire()
    other = ControllerWorld(ensemble, node_id=2)
    other.enter()
    other.do_all()
    assert other.role.election.epoch == 2
    assert (other.finalized(), other.epoch()) == ({"group_coordinator": (1, 1)}, 0)


def test_a_znode_that_appears_while_it_is_made_is_kept(ensemble):
    world = ControllerWorld(ensemble)
    world.enter()
    world.do_until_elected()
    world.do_until(Multi)
    mine = b'{"version":1,"status":1,"features":{"a":{"max_version_level":1,"min_version_level":1}}}'
    write_by_hand(ensemble, "/features", mine)
    world.do_all()
    assert ensemble.znode("/features").data == mine


def test_nothing_is_begun_before_the_brokers_are_known(ensemble):
    world = ControllerWorld(ensemble)
    world.brokers = None
    world.enter()
    world.do_all()
    assert ensemble.znode("/features") is None
    question = world.ask_for(group_coordinator=2)
    world.brokers = {1: world.supported}
    world.role.tick(0)
    world.do_all()
    assert world.finalized() == {"group_coordinator": (1, 3)}
    assert question.error_of("group_coordinator") is INVALID, "set-up came first, and finalized level 3"


def test_by_kip_778_max_levels_alone_are_written_and_nothing_twice(ensemble):
    world = ControllerWorld(ensemble, supported={"a": SupportedRange(2, 4)}, writes_kip_778=True)
    world.enter()
    world.do_all()
    assert b"min_version_level" not in ensemble.znode("/features").data
    world.role.recheck()
    world.do_all()
    assert world.epoch() == 0


# --- Updates


def test_an_update_is_written_and_answered(world):
    question = world.ask_for(group_coordinator=2)
    world.do_all()
    assert question.results == {"group_coordinator": NONE}
    assert world.finalized() == {"group_coordinator": (1, 2)}
    assert world.epoch() == 1


def test_what_is_valid_is_done_though_something_else_is_not(world):
    question = world.ask_for(group_coordinator=2, unheard_of=1)
    world.do_all()
    assert question.results == {"group_coordinator": NONE, "unheard_of": FAILED}
    assert world.finalized() == {"group_coordinator": (1, 2)}


def test_a_refused_update_writes_nothing(world):
    question = world.ask_for(group_coordinator=9)
    world.do_all()
    assert question.results == {"group_coordinator": FAILED}
    assert world.epoch() == 0


def test_a_dry_run_writes_nothing(world):
    question = world.ask_for(validate_only=True, group_coordinator=2)
    world.do_all()
    assert question.results == {"group_coordinator": NONE}
    assert world.epoch() == 0


def test_a_node_that_is_not_the_controller_says_so(ensemble, world):
    other = ControllerWorld(ensemble, node_id=2)
    other.enter()
    other.do_all()
    assert other.ask_for(group_coordinator=2).error[0] is NOT_CONTROLLER


def test_the_second_update_is_decided_after_the_first_is_written(world):
    first = world.ask_for(group_coordinator=2)
    second = world.ask_for(group_coordinator=2)
    world.do_until(Multi)
    assert len(world.asked) == 1, "one in flight"
    world.do_all()
    assert first.results == {"group_coordinator": NONE}
    assert second.results == {"group_coordinator": INVALID}
    assert world.epoch() == 1


def test_the_answer_waits_for_the_nodes_own_cache_and_others_need_not(world):
    world.cached_epoch = 0
    first = world.ask_for(group_coordinator=2)
    second = world.ask_for(group_coordinator=3)
    world.do_all()
    assert not first.is_answered
    assert not second.is_answered
    world.cache(1)
    assert first.is_answered
    assert not second.is_answered
    world.cache(2)
    assert second.results == {"group_coordinator": NONE}


def test_a_late_cache_takes_nothing_from_the_success(world):
    world.cached_epoch = 0
    question = world.ask_for(group_coordinator=2, timeout_ms=500)
    world.do_all()
    assert world.role.next_wakeup_ms == world.now_ms + 500
    world.wait(500)
    assert question.results == {"group_coordinator": NONE}
    world.cache(1)
    assert question.count == 1


# --- Brokers: the race of KIP-584, and deprecation


def test_a_broker_that_registers_before_the_update_is_looked_at_blocks_it(world):
    world.register(2, {"group_coordinator": SupportedRange(1, 1)})
    question = world.ask_for(group_coordinator=2)
    world.do_all()
    assert question.results == {"group_coordinator": FAILED}
    assert world.finalized() == {"group_coordinator": (1, 1)}


def test_a_broker_that_registers_after_the_update_is_ignored(world):
    question = world.ask_for(group_coordinator=2)
    world.register(2, {"group_coordinator": SupportedRange(1, 1)})
    world.do_all()
    assert question.results == {"group_coordinator": NONE}
    world.role.recheck()
    world.do_all()
    (fact,) = world.facts_of("brokers-ignored")
    assert fact.fields["brokers"] == [2]
    further = world.ask_for(group_coordinator=3)
    world.do_all()
    assert further.results == {"group_coordinator": NONE}, "who is ignored is in nobody's way"


def test_a_broker_that_advertises_nothing_is_ignored_and_blocks_what_raises_a_level(world):
    world.ask_for(group_coordinator=2)
    world.do_all()
    world.silent = frozenset({7})
    world.register(7, {})
    world.do_all()
    assert world.facts_of("brokers-ignored")[-1].fields["brokers"] == [7]
    raised = world.ask_for(group_coordinator=3)
    world.do_all()
    assert raised.results == {"group_coordinator": FAILED}
    assert "Broker 7 does not" in raised.message_of("group_coordinator")
    lowered = world.ask_for(is_downgrade=True, group_coordinator=1)
    world.do_all()
    assert lowered.results == {"group_coordinator": NONE}


def test_a_broker_that_registers_while_an_update_waits_comes_after_it(world):
    first, second = world.ask_for(group_coordinator=2), world.ask_for(group_coordinator=3)
    world.register(2, {"group_coordinator": SupportedRange(1, 2)})
    world.do_all()
    assert first.results == {"group_coordinator": NONE}
    assert second.results == {"group_coordinator": NONE}
    assert len(world.facts_of("brokers-ignored")) == 1


def test_many_changes_are_looked_at_once(world):
    world.ask_for(group_coordinator=2)
    world.do_until(Multi)
    for broker_id in range(10, 20):
        world.register(broker_id, world.supported)
    world.do()
    world.do()
    assert not world.asked


def test_an_ignored_broker_counts_again_when_it_fits_again(world):
    world.ask_for(group_coordinator=2)
    world.register(2, {"group_coordinator": SupportedRange(1, 1)})
    world.do_all()
    lowered = world.ask_for(is_downgrade=True, group_coordinator=1)
    raised = world.ask_for(group_coordinator=2)
    world.do_all()
    assert lowered.results == {"group_coordinator": NONE}
    assert raised.results == {"group_coordinator": FAILED}
    assert "Broker 2" in raised.message_of("group_coordinator")


def test_a_broker_that_left_is_no_longer_in_the_way(world):
    world.register(2, {"group_coordinator": SupportedRange(1, 1)})
    world.do_all()
    world.unregister(2)
    question = world.ask_for(group_coordinator=2)
    world.do_all()
    assert question.results == {"group_coordinator": NONE}


def test_a_minimum_that_rises_on_any_broker_is_finalized(world):
    world.ask_for(group_coordinator=3)
    world.do_all()
    world.register(2, {"group_coordinator": SupportedRange(2, 4)})
    world.do_all()
    assert world.finalized() == {"group_coordinator": (2, 3)}
    world.unregister(2)
    world.do_all()
    assert world.finalized() == {"group_coordinator": (2, 3)}, "it never falls"


def test_an_ignored_broker_raises_no_minimum(world):
    world.register(2, {"group_coordinator": SupportedRange(2, 4)})
    world.do_all()
    assert world.finalized() == {"group_coordinator": (1, 1)}


def test_brokers_that_change_while_an_update_is_written_are_looked_at_next(world):
    world.ask_for(group_coordinator=3)
    world.do_until(Multi)
    world.register(2, {"group_coordinator": SupportedRange(3, 3)})
    world.do()
    assert world.finalized() == {"group_coordinator": (1, 3)}
    world.do_all()
    assert world.finalized() == {"group_coordinator": (3, 3)}


def test_a_broker_that_is_being_read_delays_what_comes_next_and_is_not_forgotten(world):
    world.register(2, {"group_coordinator": SupportedRange(1, 1)})
    assert isinstance(world.next, GetData), "the look has begun"
    brokers, world.brokers = world.brokers, None
    question = world.ask_for(group_coordinator=2)
    world.do_all()
    assert not question.is_answered
    world.brokers = brokers
    world.role.tick(0)
    world.do_all()
    assert question.results == {"group_coordinator": FAILED}


# --- Somebody else writes


def test_an_update_is_decided_anew_on_what_was_written_by_hand_meanwhile(ensemble, world):
    question = world.ask_for(group_coordinator=2)
    world.do_until(Multi)
    by_hand = b'{"version":1,"status":1,"features":{"group_coordinator":{"max_version_level":3,"min_version_level":1}}}'
    write_by_hand(ensemble, "/features", by_hand)
    world.do_all()
    assert question.results == {"group_coordinator": INVALID}
    assert ensemble.znode("/features").data == by_hand


@pytest.mark.parametrize("when", ["before", "between"])
def test_a_malformed_znode_is_never_written_over(ensemble, world, when):
    if when == "between":
        question = world.ask_for(group_coordinator=2)
        world.do_until(Multi)
    write_by_hand(ensemble, "/features", b'{"version":1')
    if when == "before":
        question = world.ask_for(group_coordinator=2)
    world.do_all()
    error, message = question.error
    assert error is FAILED
    assert message.startswith("znode /features: ")
    assert ensemble.znode("/features").data == b'{"version":1'
    world.role.recheck()
    world.do_all()
    assert len(world.facts_of("features-not-finalized")) == 1


def test_a_malformed_znode_that_is_mended_is_set_up_and_served(ensemble):
    write_by_hand(ensemble, "/features", b"?")
    world = ControllerWorld(ensemble)
    world.enter()
    world.do_all()
    assert ensemble.znode("/features").data == b"?"
    write_by_hand(ensemble, "/features", b'{"version":1,"status":0,"features":{}}')
    world.role.recheck()
    question = world.ask_for(group_coordinator=2)
    world.do_all()
    assert question.results == {"group_coordinator": NONE}


@pytest.mark.parametrize("when", ["before", "between"])
def test_a_znode_that_was_deleted_is_left_to_the_next_controller(ensemble, world, when):
    if when == "between":
        question = world.ask_for(group_coordinator=2)
        world.do_until(Multi)
    delete_by_hand(ensemble, "/features")
    if when == "before":
        question = world.ask_for(group_coordinator=2)
    world.do_all()
    assert question.error == (FAILED, "znode /features: it has been deleted; the next controller creates it again")
    assert ensemble.znode("/features") is None


@pytest.mark.parametrize(("last_epoch", "version"), [(0, 1), (1, 2), (17, 18), (1_000_000, 2358)])
def test_a_znode_is_created_in_a_version_that_was_not_seen_yet(ensemble, last_epoch, version):
    world = ControllerWorld(ensemble)
    world.last_epoch = last_epoch
    world.enter()
    world.do_all()
    assert ensemble.znode("/features").version == version
    assert world.finalized() == {"group_coordinator": (1, 3)}


def test_a_znode_that_was_disabled_by_hand_is_enabled_again(ensemble, world):
    write_by_hand(ensemble, "/features", b'{"version":1,"status":0,"features":{}}')
    world.role.recheck()
    world.do_all()
    assert (world.status(), world.finalized()) == (1, {})
