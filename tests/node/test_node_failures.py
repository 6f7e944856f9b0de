"""What a node does when its disk, its peers, its clients or its own code fail."""

from __future__ import annotations

import errno
import re
import struct
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from broker_requests import registration_request
from failing_disk import FailingDisk
from node_network import LOG_DIR, NodeNetwork, controller_endpoint

from falkirk.node.config.node_config import CONTROLLER
from falkirk.node.connections.client_connections import OPEN_REQUESTS_MAX
from falkirk.node.errors import StartupError
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import ControllerView, NodeView
from falkirk.node.handlers.routes import ROUTES
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ApiVersionsRequest, CreateTopicsRequest, FeatureLevelRecord
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.storage.bootstrap_checkpoint import FILE_NAME, write_bootstrap_checkpoint
from falkirk.storage.meta_properties import format_meta_properties, make_meta_properties
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from falkirk.storage.memory_disk import MemoryDisk

LOG = f"{LOG_DIR}/__cluster_metadata-0/00000000000000000000.log"


def a_cluster(count: int = 1, release: str = "4.3", **settings) -> NodeNetwork:
    network = NodeNetwork(release=release)
    voters = {node_id: controller_endpoint(node_id) for node_id in range(1, count + 1)}
    for node_id in voters:
        network.add(node_id, roles={CONTROLLER}, quorum_voters=voters, disk=FailingDisk(), **settings)
        network.start(node_id)
    network.run_until(lambda: network.active is not None)
    return network


def create_topics(*names: str) -> CreateTopicsRequest:
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
    return CreateTopicsRequest(topics, 30_000, validate_only=False)


def register(network: NodeNetwork, node_id: int) -> None:
    answer = network.client(node_id).ask(registration_request(101, release=network.release.word), 4)
    assert answer.error_code == 0


def files(disk: MemoryDisk) -> dict[str, bytes]:
    return dict(disk._files)


# --- Disks


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EIO, "Input/output error")]
)
def test_a_node_whose_disk_fails_stops_and_answers_nothing_that_it_could_not_keep(error):
    network = a_cluster()
    register(network, 1)
    client = network.client(1)
    network.hosts[1].disk.error = error

    sent = client.send(registration_request(102), 4)
    network.run_until(lambda: network.hosts[1].stop is not None)

    assert sent not in client.answers
    assert client.is_closed
    assert network.hosts[1].stop.exit_code == 1
    assert network.hosts[1].stop.reason == f"The disk of {LOG_DIR} failed: {error}"


def test_nothing_that_was_answered_is_lost_when_a_full_disk_has_room_again():
    network = a_cluster()
    register(network, 1)
    network.hosts[1].disk.fill()
    network.client(1).send(registration_request(102), 4)
    network.run_until(lambda: network.hosts[1].stop is not None)
    network.hosts[1].disk.error = None

    network.start(1)
    network.run_until(lambda: network.active is not None)

    assert set(network.hosts[1].running.image.cluster.brokers) == {101}


def test_the_others_go_on_when_the_leaders_disk_fails():
    network = a_cluster(count=3)
    register(network, network.active.config.node_id)
    leader = network.active
    leader.disk.fill()
    network.run_until(lambda: leader.stop is not None)

    network.run_until(lambda: network.active is not None)

    assert 101 in network.active.running.image.cluster.brokers


def test_a_damaged_log_is_refused_by_file_and_position_and_left_as_it_is():
    network = a_cluster()
    network.run_for(3000)
    network.kill(1)
    disk = network.hosts[1].disk
    damaged = bytearray(disk.read(LOG))
    damaged[200] ^= 0xFF
    disk.write(LOG, [bytes(damaged)])
    before = files(disk)

    with pytest.raises(StartupError, match=rf"{LOG}: .*\(byte \d+\)"):
        network.start(1)

    assert files(disk) == before


def test_a_write_that_never_finished_is_cut_off():
    network = a_cluster()
    register(network, 1)
    network.kill(1)
    disk = network.hosts[1].disk
    whole = disk.read(LOG)
    disk.append(LOG, whole[:70])

    network.start(1)
    network.run_until(lambda: network.active is not None)

    assert 101 in network.hosts[1].running.image.cluster.brokers
    (fact,) = network.facts("torn-write-cut-off")
    assert (fact.level, fact.fields["file"]) == ("warning", LOG)


# --- Directories


def test_a_directory_that_was_never_formatted_is_refused_and_stays_empty():
    network = NodeNetwork()
    host = network.add(1, roles={CONTROLLER}, quorum_voters={1: controller_endpoint(1)}, is_formatted=False)
    host.disk.make_directory(LOG_DIR)

    with pytest.raises(StartupError, match=r"No readable meta.properties files found\."):
        network.start(1)

    assert host.disk.list(LOG_DIR) == []


def test_a_second_log_dir_without_a_format_is_named():
    network = NodeNetwork()
    host = network.add(1, roles={CONTROLLER}, quorum_voters={1: controller_endpoint(1)})
    host.disk.make_directory("/d1")
    with_two = type(host.config)(
        **{name: getattr(host.config, name) for name in host.config.__slots__} | {"log_dirs": (LOG_DIR, "/d1")}
    )
    host.config = with_two

    with pytest.raises(StartupError, match=r"No `meta.properties` found in /d1 \(have you run `kafka-storage.sh`"):
        network.start(1)


def test_directories_of_two_clusters_are_refused():
    network = NodeNetwork()
    host = network.add(1, roles={CONTROLLER}, quorum_voters={1: controller_endpoint(1)})
    other = make_meta_properties(cluster_id="another-cluster-AAAAAA", node_id=1, directory_id=None, now_ms=0)
    host.disk.make_directory("/d1")
    host.disk.write("/d1/meta.properties", [format_meta_properties(other)])
    host.config = type(host.config)(
        **{name: getattr(host.config, name) for name in host.config.__slots__} | {"log_dirs": (LOG_DIR, "/d1")}
    )
    before = files(host.disk)

    with pytest.raises(StartupError, match=r"Invalid cluster.id in: /d1/meta.properties. Expected .* but read another"):
        network.start(1)

    assert files(host.disk) == before


def test_the_directory_of_another_node_is_refused():
    network = NodeNetwork()
    first = network.add(1, roles={CONTROLLER}, quorum_voters={1: controller_endpoint(1)})
    network.add(2, roles={CONTROLLER}, quorum_voters={2: controller_endpoint(2)}, disk=first.disk, is_formatted=False)

    with pytest.raises(StartupError, match=r"Stored node id 1 doesn't match previous node id 2 in /d0/meta.properties"):
        network.start(2)


@pytest.mark.parametrize(("release", "level"), [("3.7", "3.9-IV0"), ("3.9", "4.3-IV0"), ("4.3", "4.4-IV0")])
def test_a_level_that_the_release_does_not_know_is_refused_and_the_directory_left_as_it_is(release, level):
    network = NodeNetwork(release=release)
    host = network.add(
        1, roles={CONTROLLER}, quorum_voters={1: controller_endpoint(1)}, level=MetadataVersion.parse(level)
    )
    before = files(host.disk)

    with pytest.raises(StartupError, match=r"featureLevel=\d+\), but this controller only supports versions \d+-\d+"):
        network.start(1)

    assert files(host.disk) == before


def test_a_log_of_a_level_that_an_older_release_does_not_know_is_refused_and_left_as_it_is():
    network = a_cluster(release="4.3")
    network.run_for(1000)
    network.kill(1)
    disk = network.hosts[1].disk
    record = FeatureLevelRecord(METADATA_VERSION, MetadataVersion.parse("3.9-IV0").level)
    older = write_bootstrap_checkpoint([encode_metadata_record(record, 0)], clock=lambda: 0)
    disk.write(f"{LOG_DIR}/{FILE_NAME}", older)
    before = files(disk)
    host = network.add(
        1,
        roles={CONTROLLER},
        quorum_voters={1: controller_endpoint(1)},
        release=Release.parse("3.9"),
        disk=disk,
        is_formatted=False,
    )

    with pytest.raises(StartupError, match=rf"FeatureLevelRecord at offset \d+ of {LOG}: Tried to apply"):
        network.start(1)

    assert host.node is None
    assert files(disk) == before


@pytest.mark.parametrize("has_log", [True, False])
def test_formatting_at_a_level_that_the_release_does_not_know_matters_only_to_a_log_without_records(has_log):
    """A cluster that 4.3 formatted, and that was lowered since, is 3.9's now."""
    network = NodeNetwork(release="3.9")
    host = network.add(1, roles={CONTROLLER}, quorum_voters={1: controller_endpoint(1)})
    if has_log:
        network.start(1)
        network.run_until(lambda: network.active is not None)
        network.kill(1)
    record = FeatureLevelRecord(METADATA_VERSION, MetadataVersion.parse("4.3-IV0").level)
    newer = write_bootstrap_checkpoint([encode_metadata_record(record, 0)], clock=lambda: 0)
    host.disk.write(f"{LOG_DIR}/{FILE_NAME}", newer)

    if not has_log:
        with pytest.raises(StartupError, match=re.escape(FILE_NAME)):
            network.start(1)
        return
    network.start(1)
    network.run_until(lambda: network.active is not None)
    (fact,) = network.facts("bootstrap-checkpoint-not-read")
    assert FILE_NAME in fact.fields["reason"]
    assert network.active.running.image.features.metadata_version == Release.parse("3.9").latest_metadata_version


def test_a_controller_whose_release_cannot_read_what_is_committed_stops_and_says_why():
    network = a_cluster(count=3, release="4.3")
    leader = network.active
    follower = next(node_id for node_id in network.hosts if node_id != leader.config.node_id)
    network.run_for(2000)
    raised = FeatureLevelRecord(METADATA_VERSION, MetadataVersion.parse("4.4-IV0").level)

    leader.running.raft.append([encode_metadata_record(raised, 0)], network.now_ms)
    network.run_until(lambda: network.hosts[follower].stop is not None)

    stop = network.hosts[follower].stop
    assert stop.exit_code == 1
    assert "but this controller only supports versions" in stop.reason
    assert "\n" not in stop.reason


# --- Clients


def test_garbage_closes_its_own_connection_alone_and_is_counted():
    network = a_cluster()
    good, bad = network.client(1), network.client(1)
    bad.send_bytes(struct.pack(">i", 20) + b"\xff" * 20)
    bad_length = network.client(1)
    bad_length.send_bytes(b"GET / HTTP/1.1\r\n\r\n")
    absurd = network.client(1)
    absurd.send_bytes(struct.pack(">ihhih", 14, 19, 7, 1, -1) + b"\0\xff\xff\xff\xff"[:4])
    network.settle()

    assert [bad.is_closed, bad_length.is_closed, absurd.is_closed] == [True, True, True]
    assert good.ask(ApiVersionsRequest("tester", "1.0"), 4).error_code == 0
    counters = network.hosts[1].running.counters
    assert counters.closed_for_garbage + counters.closed_for_unserved_apis == 3
    assert len(network.facts("invalid-request")) + len(network.facts("unserved-request")) == 3


@pytest.mark.parametrize(
    ("api_key", "version", "body"),
    [
        (19, 4, struct.pack(">i", 2**31 - 1)),  # topics
        (19, 4, struct.pack(">i", -2)),
        (19, 5, b"\xff\xff\xff\xff\x0f"),  # the same, compact: 2^32 - 2
        (44, 1, b"\x02\x04\xff\xff\xff\xff\x07"),  # the name of a resource
        (62, 1, struct.pack(">i", 1) + b"\xf0\xff\xff\xff\x07"),  # the id of a cluster
    ],
)
def test_absurd_counts_cost_their_connection_and_no_memory(api_key, version, body):
    network = a_cluster()
    good, bad = network.client(1), network.client(1)
    is_flexible = (api_key, version) != (19, 4)
    header = struct.pack(">hhih", api_key, version, 7, -1) + b"\0" * is_flexible
    data = header + body
    network.settle()

    tracemalloc.start()
    bad.send_bytes(struct.pack(">i", len(data)) + data)
    network.settle()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert bad.is_closed
    assert peak < 4 * 1024 * 1024
    assert network.hosts[1].running.counters.closed_for_garbage == 1
    assert good.ask(ApiVersionsRequest("tester", "1.0"), 4).error_code == 0


def test_a_wrong_api_key_costs_its_connection_and_what_was_asked_before_it_is_answered():
    network = a_cluster()
    good, bad = network.client(1), network.client(1)
    asked = bad.send(ApiVersionsRequest("tester", "1.0"), 4)
    for api_key in (-1, 1000, 0):  # Produce is for brokers
        bad.send_bytes(struct.pack(">ihhih", 10, api_key, 3, 7, -1))
    bad.send(ApiVersionsRequest("tester", "1.0"), 4)
    network.settle()

    assert (list(bad.answers), bad.is_closed) == ([asked], True)
    assert network.hosts[1].running.counters.closed_for_unserved_apis == 1
    assert good.ask(ApiVersionsRequest("tester", "1.0"), 4).error_code == 0


def test_answers_keep_the_order_of_the_requests_however_long_each_takes():
    network = a_cluster(count=3)
    leader = network.active.config.node_id
    register(network, leader)
    client = network.client(leader)

    slow = client.send(create_topics("orders"), 5)
    quick = client.send(ApiVersionsRequest("tester", "1.0"), 4)
    network.run_until(lambda: quick in client.answers)

    # The client's own connection would have refused an answer out of order.
    assert list(client.answers) == [slow, quick]


def test_a_client_that_asks_on_and_on_without_waiting_is_held_back_and_then_answered():
    network = a_cluster(count=3)
    leader = network.active.config.node_id
    client = network.client(leader)

    sent = [client.send(create_topics(f"t{index}"), 5) for index in range(OPEN_REQUESTS_MAX + 50)]
    network.run_until(lambda: len(client.answers) == len(sent))

    assert list(client.answers) == sent


def test_a_client_that_floods_loses_its_connection():
    network = a_cluster(count=3)
    leader = network.active.config.node_id
    network.isolate(leader)
    client = network.client(leader)

    for index in range(OPEN_REQUESTS_MAX):
        client.send(create_topics(f"t{index}"), 5)
    for _ in range(5):
        client.send(create_topics(*["x" * 1000] * 1000), 5)
    network.settle()

    assert client.is_closed
    assert network.hosts[leader].running.counters.closed_for_flooding == 1


def test_no_more_requests_than_the_queue_holds_wait_for_a_commit_and_the_quorum_goes_on():
    network = a_cluster(count=3, queued_max_requests=10)
    leader = network.active.config.node_id
    register(network, leader)
    clients = [network.client(leader) for _ in range(25)]
    network.settle()

    for index, client in enumerate(clients):
        client.send(create_topics(f"t{index}"), 5)
    network.run_until(lambda: all(client.answers for client in clients))

    assert {answer.topics[0].error_code for client in clients for answer in client.answers.values()} == {
        ErrorCode.INVALID_REPLICATION_FACTOR
    }


def test_silent_connections_are_closed():
    network = a_cluster(connections_max_idle_ms=60_000)
    client = network.client(1)
    network.settle()

    network.run_for(61_000)

    assert client.is_closed
    assert [fact.fields["client_host"] for fact in network.facts("connection-idle")].count("10.0.0.1") == 1
    assert network.hosts[1].running.counters.closed_for_idleness == len(network.facts("connection-idle"))


# --- Our own code


def test_a_handler_that_fails_answers_unknown_server_error_and_the_controller_resigns(monkeypatch):
    network = a_cluster(count=3)
    leader = network.active.config.node_id
    epoch = network.active.running.raft.epoch

    def broken(view, context, request):
        raise RuntimeError("planted")

    monkeypatch.setitem(ROUTES, 19, Route(ControllerView, CreateTopicsRequest, broken))
    answer = network.client(leader).ask(create_topics("orders"), 5)
    network.run_until(lambda: network.active is not None and network.active.running.raft.epoch > epoch)

    assert answer.topics[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    (fact,) = network.facts("handler-failed")
    assert fact.level == "error"
    assert "RuntimeError: planted" in fact.fields["traceback"]


def test_a_handler_that_fails_on_a_question_does_not_cost_the_leadership(monkeypatch):
    network = a_cluster()

    def broken(view, context, request):
        raise RuntimeError("planted")

    monkeypatch.setitem(ROUTES, 18, Route(NodeView, ApiVersionsRequest, broken))
    answer = network.client(1).ask(ApiVersionsRequest("tester", "1.0"), 4)

    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert network.hosts[1].running.is_active_controller
