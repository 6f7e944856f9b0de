"""Rules of KIP-853: who is a voter, and which changes of the voters there are."""

from hypothesis import given
from hypothesis import strategies as st

from falkirk.protocol import codec
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.messages.voters_record import VotersRecord
from falkirk.raft.voter_set import KRaftVersionRange, ReplicaKey, VoterNode, VoterSet, listener_name

DISK_A, DISK_B = b"a" * 16, b"b" * 16


def node(node_id, disk=DISK_A, port=9000, versions=(0, 1)):
    return VoterNode(
        key=ReplicaKey(node_id, disk),
        listeners={"CONTROLLER": Endpoint("host", port)},
        kraft_versions=KRaftVersionRange(*versions),
    )


def voters(*node_ids):
    return VoterSet({node_id: node(node_id) for node_id in node_ids})


def test_a_voter_is_known_by_its_node_and_its_disk():
    assert voters(1, 2).is_voter(ReplicaKey(1, DISK_A))
    assert not voters(1, 2).is_voter(ReplicaKey(1, DISK_B))
    assert not voters(1, 2).is_voter(ReplicaKey(1))
    assert not voters(1, 2).is_voter(ReplicaKey(3, DISK_A))


def test_a_configured_voter_is_known_by_its_node_alone():
    static = VoterSet.of_static({1: Endpoint("host", 9000)}, "CONTROLLER")
    assert static.is_voter(ReplicaKey(1, DISK_A))
    assert static.is_voter(ReplicaKey(1))
    assert static.is_only_voter(ReplicaKey(1, DISK_B))
    assert static.nodes[1].listeners == {"CONTROLLER": Endpoint("host", 9000)}


def test_a_node_is_added_once_with_whatever_disk():
    added = voters(1).with_voter(node(2))
    assert added == voters(1, 2)
    assert added.with_voter(node(2, DISK_B)) is None


def test_a_voter_is_removed_with_its_own_disk_only_and_the_last_one_never():
    assert voters(1, 2).without(ReplicaKey(2, DISK_A)) == voters(1)
    assert voters(1, 2).without(ReplicaKey(2, DISK_B)) is None
    assert voters(1, 2).without(ReplicaKey(3, DISK_A)) is None
    assert voters(1).without(ReplicaKey(1, DISK_A)) is None


def test_only_a_voter_that_says_something_new_needs_an_update():
    moved = node(2, port=9001)
    assert voters(1, 2).needs_update(moved)
    assert not voters(1, 2).needs_update(node(2))
    assert not voters(1, 2).needs_update(node(2, DISK_B, port=9001))
    assert voters(1, 2).updated(moved).nodes[2] == moved
    assert voters(1, 2).updated(node(3)) is None


def test_a_change_leaves_the_set_as_it_was():
    before = voters(1, 2)
    before.with_voter(node(3))
    before.without(ReplicaKey(1, DISK_A))
    before.updated(node(1, port=1))
    assert before == voters(1, 2)


def test_listeners_are_compared_in_capitals():
    record = voters(1).record()
    record.voters[0].endpoints[0].name = "controller"
    assert VoterSet.of_record(record) == voters(1)
    assert listener_name("Controller") == "CONTROLLER"


@given(
    st.dictionaries(
        st.integers(0, 1 << 30),
        st.tuples(st.binary(min_size=16, max_size=16), st.integers(0, 65_535), st.integers(0, 5)),
        max_size=6,
    )
)
def test_a_record_gives_back_the_voters_that_it_was_made_of(entries):
    given_voters = VoterSet({
        node_id: node(node_id, disk, port, (0, level)) for node_id, (disk, port, level) in entries.items()
    })  # fmt: skip
    data = codec.encode(given_voters.record(), 0)
    assert VoterSet.of_record(codec.decode(VotersRecord, 0, data)) == given_voters
