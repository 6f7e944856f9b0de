"""Who becomes the controller, and who ceases to be it, whatever becomes of session, connection and znodes meanwhile."""

import pytest
from zookeeper_world import HeldSession, delete_by_hand, depose_by_hand, write_by_hand

from falkirk.metadata.zookeeper.controller_znode import CONTROLLER_EPOCH_PATH, CONTROLLER_PATH, decode_controller
from falkirk.simulation.zookeeper.world.ensemble import Ensemble
from falkirk.zookeeper_node.controller.controller_election import NO_CONTROLLER, ControllerElection, WonElection
from falkirk.zookeeper_node.session.exchange import SessionChanged, SessionState
from falkirk.zookeeper_node.session.operations import Create, GetData, KeeperError, Multi

# What is asked until a controller is elected where nobody has ever been: the znode of the epoch is made, too.
STEPS = 6


class Candidate(HeldSession):
    """A node that takes part, and what it was told."""

    def __init__(self, ensemble: Ensemble, node_id: int) -> None:
        super().__init__(ensemble)
        self.told: list[object] = []
        self.facts = []
        self.election = ControllerElection(
            self.session,
            node_id,
            now_ms=lambda: 1_700_000_000_000,
            elected=self.told.append,
            resigned=self.told.append,
            effects=self.facts.append,
        )

    def enter(self) -> None:
        """Begin a session, and take part in it."""
        self.connect()
        self.election.start()

    def reasons(self, event: str) -> list[str]:
        return [fact.fields["reason"] for fact in self.facts if fact.event == event]


@pytest.fixture
def ensemble():
    return Ensemble()


@pytest.fixture
def candidate(ensemble):
    candidate = Candidate(ensemble, 1)
    candidate.enter()
    return candidate


@pytest.fixture
def other(ensemble):
    return Candidate(ensemble, 2)


def epoch_of(ensemble: Ensemble) -> int:
    return int(ensemble.znode(CONTROLLER_EPOCH_PATH).data)


def test_the_first_controller_makes_epoch_1_and_its_ephemeral_znode(ensemble, candidate):
    candidate.do_all()
    assert candidate.told == [WonElection(epoch=1, epoch_version=1)]
    assert epoch_of(ensemble) == 1
    znode = ensemble.znode(CONTROLLER_PATH)
    assert decode_controller(znode.data) == 1
    assert znode.ephemeral_owner == candidate.session_id
    assert candidate.election.controller_id == 1


def test_nobody_takes_part_before_it_starts(ensemble):
    candidate = Candidate(ensemble, 1)
    candidate.connect()
    candidate.election.check()
    assert not candidate.asked


def test_whoever_comes_second_knows_the_first_and_follows_it(candidate, other):
    candidate.do_all()
    other.enter()
    other.do_all()
    assert other.told == []
    assert other.election.controller_id == 1
    candidate.expire()
    other.do_all()
    assert other.told == [WonElection(epoch=2, epoch_version=2)]
    assert candidate.told[1:] == ["the session with ZooKeeper has expired"]
    assert candidate.election.controller_id == NO_CONTROLLER


def test_of_two_that_stand_at_once_one_is_elected(ensemble, candidate, other):
    other.enter()
    other.do_until(Multi)
    candidate.do_until(Multi)
    candidate.do()
    other.do_all()
    candidate.do_all()
    assert candidate.told == [WonElection(epoch=1, epoch_version=1)]
    assert other.told == []
    assert other.election.controller_id == 1
    assert epoch_of(ensemble) == 1


def test_an_epoch_that_was_raised_meanwhile_is_read_again(ensemble, candidate):
    candidate.do_until(Multi)
    write_by_hand(ensemble, CONTROLLER_EPOCH_PATH, b"7")
    candidate.do_all()
    assert candidate.told == [WonElection(epoch=8, epoch_version=2)]


def test_of_two_that_make_the_epoch_at_once_both_go_on_with_it(candidate, other):
    other.enter()
    other.do_until(Create)
    candidate.do_all()
    other.do_all()
    assert (candidate.election.controller_id, other.election.controller_id) == (1, 1)


@pytest.mark.parametrize("carried_out", [0, 1], ids=["before", "after"])
@pytest.mark.parametrize("step", range(STEPS))
def test_a_connection_that_is_lost_at_any_step_costs_nothing_but_time(ensemble, candidate, step, carried_out):
    for _ in range(step):
        candidate.do()
    candidate.lose_connection(carried_out=carried_out)
    assert not candidate.asked, "nobody knows whether the session lives"
    candidate.reconnect()
    candidate.do_all()
    assert candidate.told == [WonElection(epoch=1, epoch_version=1)]
    assert epoch_of(ensemble) == 1


def test_the_last_step_of_an_election_makes_the_controller(candidate):
    for _ in range(STEPS - 1):
        candidate.do()
    assert isinstance(candidate.next, Multi)
    candidate.do()
    assert candidate.told == [WonElection(epoch=1, epoch_version=1)]


def test_a_lost_answer_with_the_session_still_connected_is_found_out(candidate):
    candidate.do_until(Multi)
    operation = candidate.next
    candidate.ensemble.ask(candidate.session_id, operation)
    candidate.refuse(KeeperError.CONNECTION_LOSS)
    candidate.do_all()
    assert candidate.told == [WonElection(epoch=1, epoch_version=1)]


def test_whoever_was_elected_unknowingly_and_overtaken_stands_again(ensemble, candidate):
    candidate.do_until(Multi)
    candidate.lose_connection(carried_out=1)
    write_by_hand(ensemble, CONTROLLER_EPOCH_PATH, b"41")
    candidate.reconnect()
    candidate.do_all()
    assert candidate.told == [WonElection(epoch=42, epoch_version=3)]
    assert ensemble.znode(CONTROLLER_PATH).ephemeral_owner == candidate.session_id


@pytest.mark.parametrize("step", range(STEPS + 1))
def test_a_session_that_expires_at_any_step_ends_it_until_the_next_start(ensemble, candidate, other, step):
    for _ in range(step):
        candidate.do()
    candidate.expire(carried_out=1)
    candidate.connect()
    assert not candidate.asked, "the broker is not registered in the new session"
    other.enter()
    other.do_all()
    assert other.election.controller_id == 2
    candidate.election.start()
    candidate.do_all()
    assert candidate.election.controller_id == 2
    assert candidate.election.election is None
    assert candidate.told[1:] == (["the session with ZooKeeper has expired"] if candidate.told else [])


def test_a_controller_that_is_only_suspended_stays_it(candidate):
    candidate.do_all()
    candidate.lose_connection()
    assert candidate.election.election == WonElection(epoch=1, epoch_version=1)
    candidate.reconnect()
    candidate.do_all()
    assert candidate.told == [WonElection(epoch=1, epoch_version=1)]


def test_a_controller_whose_znode_is_deleted_by_hand_resigns_and_stands_again(ensemble, candidate):
    candidate.do_all()
    delete_by_hand(ensemble, CONTROLLER_PATH)
    candidate.do_all()
    assert candidate.told == [WonElection(1, 1), "/controller is gone", WonElection(2, 2)]


def test_a_controller_that_finds_another_in_its_place_resigns(ensemble, candidate):
    candidate.do_all()
    depose_by_hand(ensemble)
    candidate.do_all()
    assert candidate.told[1:] == ["/controller is broker 99's"]
    assert candidate.election.controller_id == 99


def test_a_namesake_in_another_session_is_not_the_node_itself(ensemble, candidate):
    write_by_hand(ensemble, CONTROLLER_PATH, b'{"version":1,"brokerid":1,"timestamp":"0"}')
    candidate.do_all()
    assert candidate.told == []
    assert candidate.election.controller_id == 1
    assert candidate.election.election is None


def test_a_fenced_controller_gives_its_znode_up_and_stands_again(ensemble, candidate):
    candidate.do_all()
    write_by_hand(ensemble, CONTROLLER_EPOCH_PATH, b"20")
    candidate.election.fenced()
    candidate.do_all()
    assert candidate.told == [WonElection(1, 1), "another controller epoch has begun", WonElection(21, 3)]


def test_giving_up_spares_the_znode_of_who_was_elected_meanwhile(ensemble, candidate, other):
    candidate.do_all()
    write_by_hand(ensemble, CONTROLLER_EPOCH_PATH, b"20")
    candidate.election.fenced()
    candidate.do_until(Multi)
    candidate.has_watches = False
    delete_by_hand(ensemble, CONTROLLER_PATH)
    other.enter()
    other.do_all()
    candidate.do_all()
    assert candidate.election.controller_id == 2
    assert ensemble.znode(CONTROLLER_PATH).ephemeral_owner == other.session_id


def test_a_fenced_controller_whose_epoch_is_gone_stands_again(ensemble, candidate):
    candidate.do_all()
    delete_by_hand(ensemble, CONTROLLER_EPOCH_PATH)
    candidate.election.fenced()
    candidate.do_all()
    assert candidate.told[2:] == [WonElection(1, 1)]


@pytest.mark.parametrize("epoch", [b"", b"one", b"-1", b"2147483648"])
def test_a_malformed_epoch_elects_nobody_and_is_not_written_over(ensemble, candidate, epoch):
    write_by_hand(ensemble, CONTROLLER_EPOCH_PATH, epoch)
    candidate.do_all()
    candidate.election.check()
    candidate.do_all()
    assert candidate.told == []
    assert ensemble.znode(CONTROLLER_EPOCH_PATH).data == epoch
    (reason,) = candidate.reasons("no-controller")
    assert reason.startswith("znode /controller_epoch: ")


def test_a_malformed_controller_is_nobody_and_told_once(ensemble, candidate):
    write_by_hand(ensemble, CONTROLLER_PATH, b"{")
    candidate.do_all()
    candidate.election.check()
    candidate.do_all()
    assert candidate.election.controller_id == NO_CONTROLLER
    (reason,) = candidate.reasons("no-controller")
    assert reason.startswith("znode /controller: ")
    delete_by_hand(ensemble, CONTROLLER_PATH)
    candidate.do_all()
    assert candidate.told == [WonElection(1, 1)]


def test_a_read_only_server_elects_nobody_until_it_takes_writes(ensemble, candidate):
    candidate.do_until(Multi)
    candidate.session.receive(SessionChanged(SessionState.READ_ONLY, candidate.session_id))
    candidate.refuse(KeeperError.READ_ONLY, part=0)
    assert not candidate.asked
    assert candidate.facts == []
    candidate.reconnect()
    candidate.do_all()
    assert candidate.told == [WonElection(1, 1)]


def test_what_zookeeper_forbids_is_told_and_tried_again_when_asked_to_look(candidate):
    candidate.do_until(Multi)
    candidate.refuse(KeeperError.NO_AUTH, part=0)
    assert not candidate.asked
    assert candidate.reasons("no-controller") == ["the election of a controller is refused: NoAuth"]
    candidate.election.check()
    candidate.do_all()
    assert candidate.told == [WonElection(1, 1)]


def test_a_lost_watch_is_made_up_for_by_a_look(ensemble, candidate, other):
    other.enter()
    other.do_all()
    candidate.do_all()
    candidate.has_watches = False
    other.expire()
    assert not candidate.asked
    candidate.election.check()
    candidate.do_all()
    assert candidate.told == [WonElection(2, 2)]


def test_changes_while_it_looks_make_it_look_once_more(ensemble, candidate):
    candidate.do_all()
    candidate.election.check()
    for _ in range(3):
        candidate.election.check()
    assert len(candidate.asked) == 1
    candidate.do()
    assert list(map(type, [each.operation for each in candidate.asked])) == [GetData]
    candidate.do_all()
    assert candidate.told == [WonElection(1, 1)]
