"""Registrations that outlive their servers."""

from falkirk.client.quorum_description import QuorumDescription, ReplicaState
from falkirk.operations.ghosts import find_ghosts
from falkirk.protocol.schema import ZERO_UUID


def replica(node_id):
    return ReplicaState(
        node_id=node_id,
        directory_id=ZERO_UUID,
        log_end_offset=1,
        last_fetch_timestamp=None,
        last_caught_up_timestamp=None,
    )


QUORUM = QuorumDescription(
    leader_id=1,
    leader_epoch=1,
    high_watermark=1,
    voter_states=(replica(1),),
    observer_states=(replica(2), replica(11)),
    voter_listeners={},
)


def test_whoever_is_registered_and_does_not_fetch_is_a_ghost():
    found = find_ghosts(QUORUM, fenced_brokers=[12, 11], controllers=[1, 2, 101])
    assert [(ghost.role, ghost.node_id) for ghost in found] == [("broker", 12), ("controller", 101)]


def test_a_ghost_is_named_with_what_it_blocks_and_the_way_out():
    broker, controller = find_ghosts(QUORUM, fenced_brokers=[12], controllers=[101])
    assert broker.text == (
        "broker 12 is registered and does not fetch the metadata: while it is, only levels that it supports can be "
        "finalized; start it, or take it out with falkirk brokers unregister --id 12."
    )
    assert "falkirk quorum unregister --id 101" in controller.text
    assert controller.document()["node_id"] == 101
