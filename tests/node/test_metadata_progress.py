"""What a node of ours tells of the metadata log to who asks: before a lowering, between it and its snapshot, after."""

from __future__ import annotations

import pytest
from lowered_cluster import HIGH, LOW, a_cluster, append_lowering, is_clean
from node_network import BROKER_LISTENER, CONTROLLER_LISTENER, NodeNetwork

from falkirk.node.metadata_log.snapshot_generator import SnapshotGenerator
from falkirk.protocol.messages import ApiVersionsRequest
from falkirk.protocol.metadata_progress_tags import (
    MetadataProgress,
    decode_metadata_progress,
    metadata_progress_question,
)

pytestmark = pytest.mark.slow

ASKING = ApiVersionsRequest("tester", "1.0", unknown_tagged_fields=metadata_progress_question())
SILENT = ApiVersionsRequest("tester", "1.0")


def progress_of(network: NodeNetwork, node_id: int) -> MetadataProgress:
    config = network.hosts[node_id].config
    answer = network.client(node_id, BROKER_LISTENER if config.is_broker else CONTROLLER_LISTENER).ask(ASKING, 4)
    progress = decode_metadata_progress(answer.unknown_tagged_fields)
    assert progress is not None
    return progress


def test_every_node_tells_when_its_snapshot_is_written_and_its_log_cleaned_through_the_lowering(monkeypatch):
    network = a_cluster()
    before = {node_id: progress_of(network, node_id) for node_id in network.hosts}
    with monkeypatch.context() as patch:
        # The time between the record and the snapshot, which is too short to be seen.
        patch.setattr(SnapshotGenerator, "tick", lambda _: None)
        lowered_at = append_lowering(network)
        network.run_until(
            lambda: all(progress_of(network, node_id).applied_offset > lowered_at for node_id in network.hosts)
        )
        between = {node_id: progress_of(network, node_id) for node_id in network.hosts}
    network.run_until(lambda: all(is_clean(network, node_id, lowered_at) for node_id in network.hosts))

    for node_id in network.hosts:
        assert not before[node_id].holds_lowering
        assert before[node_id].applied_offset <= lowered_at < between[node_id].applied_offset
        assert between[node_id].holds_lowering
        assert between[node_id].snapshot_end_offset in (None, 0)
        after = progress_of(network, node_id)
        assert not after.holds_lowering
        assert lowered_at < after.log_start_offset == after.snapshot_end_offset <= after.applied_offset
        assert after.snapshot_metadata_version == LOW.level


@pytest.mark.parametrize("happens", ["restart", "fetched snapshot"])
def test_the_level_of_the_newest_snapshot_is_known_wherever_it_came_from(happens):
    network = a_cluster()
    assert progress_of(network, 101).snapshot_metadata_version in (None, HIGH.level)
    if happens == "fetched snapshot":
        network.kill(101)
    lowered_at = append_lowering(network)
    network.run_until(lambda: all(is_clean(network, host.config.node_id, lowered_at) for host in network.running))
    if happens == "restart":
        network.kill(101)
    network.start(101)
    network.run_until(lambda: progress_of(network, 101).applied_offset > lowered_at)
    progress = progress_of(network, 101)
    assert (progress.snapshot_metadata_version, progress.holds_lowering) == (LOW.level, False)
    assert progress.snapshot_end_offset > lowered_at


def test_a_question_is_answered_for_itself_and_leaves_known_answers_as_they_are():
    network = a_cluster()
    client, other = network.client(1), network.client(1)
    plain = client.ask(SILENT, 4)
    asked = client.ask(ASKING, 4)
    network.run_for(5_000)
    later = other.ask(ASKING, 4)
    assert decode_metadata_progress(plain.unknown_tagged_fields) is None
    first, second = (decode_metadata_progress(each.unknown_tagged_fields) for each in (asked, later))
    # Time has passed, and with it records that nobody asked for: the second is no copy of the first.
    assert first.applied_offset < second.applied_offset
    asked.unknown_tagged_fields = later.unknown_tagged_fields = ()
    assert asked.api_keys == later.api_keys == plain.api_keys
    assert other.ask(SILENT, 4).unknown_tagged_fields == ()
