"""What a replica of the metadata log has to persist in one step."""

from broker_requests import registration_request
from node_network import NodeNetwork, controller_endpoint
from slow_disk import SlowDisk

from falkirk.node.config.node_config import CONTROLLER
from falkirk.node.metadata_log.quorum_driver import _joined
from falkirk.protocol.messages import BrokerHeartbeatRequest, NoOpRecord
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.raft.output import Append, Truncate

VOTERS = {node_id: controller_endpoint(node_id) for node_id in (1, 2, 3)}
SYNC_MS = 10


def test_appends_that_follow_on_one_another_are_written_as_one_also_where_they_are_views_of_frames():
    large = memoryview(b"from a large response")
    joined = _joined([Append(large), Append(b", a small one"), Truncate(3), Append(large)])
    assert joined == [Append(b"from a large response, a small one"), Truncate(3), Append(large)]


def test_the_leader_syncs_while_its_followers_do():
    network = NodeNetwork()
    for node_id in VOTERS:
        network.add(node_id, roles={CONTROLLER}, quorum_voters=VOTERS, disk=SlowDisk(SYNC_MS))
    for node_id in VOTERS:
        network.start(node_id)
    network.run_until(lambda: network.active is not None)
    network.run_for(5_000)
    leader = network.active.config.node_id
    client = network.client(leader)
    epoch = client.ask(registration_request(101, release="4.3"), 4).broker_epoch
    network.run_for(5_000)

    begin_ms = network.now_ms
    client.ask(BrokerHeartbeatRequest(101, epoch, 1_000_000, want_fence=False), 1)

    # One after the other they take twice as long.
    assert SYNC_MS <= network.now_ms - begin_ms < 2 * SYNC_MS
    network.run_for(1_000)
    assert not network.hosts[leader].running._quorum.is_unsynced


def test_what_is_appended_after_something_was_sent_unsynced_is_synced_with_it_and_counts_when_it_is_written():
    network = NodeNetwork()
    for node_id in VOTERS:
        network.add(node_id, roles={CONTROLLER}, quorum_voters=VOTERS)
    for node_id in VOTERS:
        network.start(node_id)
    network.run_until(lambda: network.active is not None)
    # In the middle of the wait of a fetch.
    network.run_for(5_100)
    leader = network.active.running
    record = encode_metadata_record(NoOpRecord(), 0)

    leader.raft.append([record], network.now_ms)
    leader._quorum.run()
    assert leader._quorum.is_unsynced
    # Nobody waits for this one: all fetches were answered with the first.
    offset = leader.raft.append([record], network.now_ms)
    leader._quorum.run()

    assert not leader._quorum.is_unsynced
    network.run_for(5_000)
    assert leader.raft.high_watermark > offset
