"""The steps of a lift on a made-up quorum: whatever fails, what is printed of the level and the voters is so."""

import pytest
from lift_fakes import HIGH, LOW, UNREACHABLE, FakeBrokers, FakeLift, FakeQuorum, lifted_cluster

from falkirk.client.errors import ClientError
from falkirk.lift.errors import LiftError
from falkirk.lift.lifted_cluster import LiftedCluster
from falkirk.lift.step import Step

pytestmark = pytest.mark.usefixtures("polls_at_once")


class FakeWay:
    """falkirk's controller is voter 9: it joins, lowers, and leaves. `lower` may be replaced."""

    def __init__(self, cluster: LiftedCluster, quorum: FakeQuorum, lower) -> None:
        self._cluster = cluster
        self._quorum = quorum
        self._lower = lower

    def steps(self):
        return (
            Step("join", "", self._has_joined, self._join),
            Step("lower", "", self._cluster.is_lowered, self._lower),
            *(step._replace(is_after_lowering=True) for step in self.way_back()),
        )

    def way_back(self):
        return (Step("leave", "", self._has_left, self._leave),)

    async def _has_joined(self):
        return 9 in self._quorum.voters

    async def _join(self):
        self._quorum.voters.add(9)

    async def _has_left(self):
        return 9 not in self._quorum.voters

    async def _leave(self):
        self._quorum.voters.discard(9)


class Lifted(FakeLift):
    """A lift on a quorum and its brokers."""

    def __init__(self, lower=None, *, revive=None) -> None:
        super().__init__()
        self.quorum = FakeQuorum()
        self.brokers = FakeBrokers()
        cluster = lifted_cluster(self.quorum, self.brokers)
        cluster.revive = revive
        way = FakeWay(cluster, self.quorum, lower or self.lower)
        self.begin(way, cluster)

    async def lower(self) -> None:
        self.quorum.level = self.brokers.level = LOW


def test_steps_are_done_in_order_and_what_is_done_is_left_alone():
    lifted = Lifted()
    lifted.go()
    assert lifted.done() == ["join", "lower", "leave"]
    lifted.go()
    assert lifted.done() == ["join", "lower", "leave"]


def test_a_lowering_whose_answer_is_lost_is_not_taken_back_though_brokers_do_not_know_it_yet():
    async def lower() -> None:
        lifted.quorum.level = LOW
        lifted.quorum.leader_id = None
        raise UNREACHABLE

    async def revive() -> None:
        lifted.quorum.leader_id = 9

    lifted = Lifted(lower, revive=revive)
    with pytest.raises(LiftError) as failed:
        lifted.go()
    assert str(failed.value).startswith("step lower: nowhere:1: connection refused. ")
    assert "The level is low: run the same command again" in str(failed.value)
    assert "as before" not in str(failed.value)
    assert lifted.done() == ["join"]
    lifted.go()
    assert lifted.done() == ["join", "leave"]


def test_where_nobody_knows_the_level_nothing_is_given_back_and_the_sentence_is_about_that():
    async def lower() -> None:
        lifted.quorum.leader_id = None
        raise UNREACHABLE

    lifted = Lifted(lower)
    with pytest.raises(LiftError, match="Whether the level is low is not known: the quorum has had no leader"):
        lifted.go()
    assert 9 in lifted.quorum.voters
    assert ("aborted", None) not in lifted.events


@pytest.mark.parametrize("brokers", [HIGH, None])
def test_abort_asks_the_leader_and_not_brokers_which_hear_of_it_later(brokers):
    lifted = Lifted()
    lifted.quorum.voters.add(9)
    lifted.events = [("begun", "lower")]
    lifted.quorum.level, lifted.brokers.level = LOW, brokers
    with pytest.raises(LiftError, match="the level is low already"):
        lifted.abort()
    assert 9 in lifted.quorum.voters


def test_brokers_that_report_the_level_of_before_prove_nothing_and_those_at_the_target_do():
    lifted = Lifted()
    lifted.events = [("begun", "lower")]
    lifted.quorum.leader_id = None
    with pytest.raises(LiftError, match="Whether the level is low is not known"):
        lifted.abort()
    lifted.brokers.level = LOW
    with pytest.raises(LiftError, match="the level is low already"):
        lifted.abort()


def test_a_lowering_that_takes_effect_while_the_quorum_is_given_back_is_named():
    lifted = Lifted()

    class Late(FakeQuorum):
        async def finalized_level(self) -> int:
            return HIGH if 9 in self.voters else LOW

    lifted.events = [("begun", "lower")]
    lifted.quorum.__class__ = Late
    lifted.quorum.voters.add(9)
    with pytest.raises(LiftError, match="the level has become low meanwhile"):
        lifted.abort()
    assert ("aborted", None) not in lifted.events


def test_a_step_that_fails_before_the_level_is_low_gives_the_quorum_back():
    async def refused() -> None:
        raise ClientError("FEATURE_UPDATE_FAILED")

    lifted = Lifted(refused)
    with pytest.raises(LiftError, match=r"step lower: FEATURE_UPDATE_FAILED\. The voters are 1, 2, 3 again, as before"):
        lifted.go()
    assert lifted.quorum.voters == {1, 2, 3}
    assert lifted.events[-1] == ("aborted", None)


def test_a_step_that_does_not_take_effect_ends_with_its_limit():
    async def nothing() -> None:
        pass

    lifted = Lifted(nothing)
    with pytest.raises(LiftError, match="step lower: not done within 0 s"):
        lifted.go()


def test_registrations_of_controllers_that_are_gone_are_named_at_the_end():
    lifted = Lifted()
    lifted.quorum.registered = frozenset((1, 2, 3, 4, 8, 9))
    # The leader still lists falkirk's own, 9, which has just ended.
    lifted.quorum.observers = frozenset((4, 9))
    lifted.go()
    assert lifted.ghosts == [8, 9]


def test_a_controller_that_has_just_started_is_asked_again_for_what_is_registered():
    lifted = Lifted()
    lifted.quorum.unknowing = 3
    lifted.quorum.registered = frozenset((1, 2, 3, 8))
    lifted.go()
    assert lifted.ghosts == [8]
