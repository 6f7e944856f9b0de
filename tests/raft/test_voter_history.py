"""Voters are in force as soon as they are written, and out of force when that is truncated."""

from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.voters_change import VotersChange
from falkirk.raft.voter_history import BOOTSTRAP_OFFSET, VoterHistory
from falkirk.raft.voter_set import ReplicaKey, VoterNode, VoterSet


def voters(*node_ids):
    return VoterSet({node_id: VoterNode(key=ReplicaKey(node_id, b"d" * 16)) for node_id in node_ids})


STATIC = VoterSet.of_static({7: Endpoint("host", 1)}, "CONTROLLER")


def test_configured_voters_are_in_force_until_the_log_names_others():
    history = VoterHistory(STATIC)
    assert (history.voters, history.voters_offset, history.kraft_version) == (STATIC, None, 0)
    history.add_kraft_version(4, 1)
    history.add_voters(5, voters(1, 2).record())
    assert (history.voters, history.voters_offset, history.kraft_version) == (voters(1, 2), 5, 1)


def test_truncation_brings_back_the_voters_before():
    history = VoterHistory(VoterSet())
    history.add_voters(5, voters(1, 2).record())
    history.add_voters(9, voters(1, 2, 3).record())
    history.truncate(10)
    assert history.voters == voters(1, 2, 3)
    history.truncate(9)
    assert history.voters == voters(1, 2)


def test_voters_of_a_bootstrap_snapshot_stand_before_the_log():
    history = VoterHistory(VoterSet())
    history.load([VotersChange(0, 1, voters(1).record())], 0)
    assert history.voters_offset == BOOTSTRAP_OFFSET
    history.truncate(0)
    assert history.voters == voters(1)


def test_voters_of_a_snapshot_survive_a_truncation_to_its_end():
    history = VoterHistory(VoterSet())
    changes = [VotersChange(10, 1, voters(1).record()), VotersChange(10, None, voters(1, 2).record())]
    history.load(changes, 10)
    assert history.voters == voters(1, 2)
    history.truncate(10)
    assert history.voters == voters(1)
    assert history.kraft_version == 1


def test_a_snapshot_gets_the_voters_of_its_end():
    history = VoterHistory(VoterSet())
    history.add_kraft_version(1, 1)
    history.add_voters(2, voters(1).record())
    history.add_voters(8, voters(1, 2).record())
    assert (history.kraft_version_before(1), history.voters_before(1)) == (0, None)
    assert (history.kraft_version_before(8), history.voters_before(8)) == (1, voters(1))
    assert history.voters_before(9) == voters(1, 2)


def test_what_was_replaced_before_the_start_of_the_log_is_forgotten():
    history = VoterHistory(VoterSet())
    for offset in (2, 4, 6):
        history.add_voters(offset, voters(offset).record())
    history.forget_before(5)
    assert history.voters_before(3) is None
    assert history.voters_before(5) == voters(4)
