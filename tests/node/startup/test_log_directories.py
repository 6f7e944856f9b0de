"""A node with several log directories, some of which fail."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest
from node_network import CLUSTER_ID, LOG_DIR, NodeNetwork, controller_endpoint, directory_id

from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.node.errors import StartupError
from falkirk.protocol.messages import BrokerRegistrationRequest
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.storage.meta_properties import format_meta_properties, make_meta_properties, parse_meta_properties

SECOND_ID = b"second-directory"
LOG_DIRS = (LOG_DIR, "/d1")


class BrokenDirectories(MemoryDisk):
    """A disk on which all that is asked of some paths fails."""

    def __init__(self):
        super().__init__()
        self.broken = ()

    def exists(self, path):
        self._check(path)
        return super().exists(path)

    def read(self, path, position=0, length=None):
        self._check(path)
        return super().read(path, position, length)

    def write(self, path, chunks):
        self._check(path)
        super().write(path, chunks)

    def _check(self, path):
        if path.startswith(self.broken):
            raise OSError(errno.EIO, "Input/output error")


def a_cluster(*broken: str, second_id: bytes | None = SECOND_ID) -> NodeNetwork:
    """Return a controller and broker 101, not started, with two directories."""
    network = NodeNetwork()
    network.add_controllers(1)
    disk = BrokenDirectories()
    host = network.add(101, roles={BROKER}, quorum_voters={1: controller_endpoint(1)}, disk=disk)
    host.config = replace(host.config, log_dirs=LOG_DIRS)
    meta = make_meta_properties(cluster_id=CLUSTER_ID, node_id=101, directory_id=second_id, now_ms=0)
    disk.make_directory("/d1")
    disk.write("/d1/meta.properties", [format_meta_properties(meta)])
    disk.broken = broken
    return network


def registered(network: NodeNetwork):
    return network.active.running.image.cluster.brokers[101]


def run_broker(network: NodeNetwork) -> None:
    network.start(101)
    network.run_until(lambda: network.hosts[101].running.broker.state is BrokerState.RUNNING)


def test_a_broker_registers_all_its_directories():
    network = a_cluster()

    run_broker(network)

    assert set(registered(network).log_dirs) == {directory_id(101), SECOND_ID}
    assert network.facts("log-directory-offline") == []


def test_a_directory_that_cannot_be_read_is_told_and_not_registered():
    network = a_cluster("/d1")

    run_broker(network)

    assert registered(network).log_dirs == (directory_id(101),)
    (fact,) = network.facts("log-directory-offline")
    assert (fact.level, fact.fields["log_dir"]) == ("error", "/d1")
    assert "Input/output error" in fact.fields["reason"]


def test_a_damaged_meta_properties_beside_the_metadata_log_counts_as_unreadable():
    network = a_cluster()
    network.hosts[101].disk.write("/d1/meta.properties", [b"version=7\n"])

    run_broker(network)

    assert registered(network).log_dirs == (directory_id(101),)
    assert "version is 7" in network.facts("log-directory-offline")[0].fields["reason"]


def test_a_directory_that_gets_no_id_because_it_cannot_be_written_is_offline():
    network = a_cluster(second_id=None)
    disk = network.hosts[101].disk
    read, disk.broken = MemoryDisk.read, ("/d1",)
    disk.read = lambda *args: read(disk, *args)
    disk.exists = lambda path: MemoryDisk.exists(disk, path)

    run_broker(network)

    assert registered(network).log_dirs == (directory_id(101),)
    assert [fact.fields["log_dir"] for fact in network.facts("log-directory-offline")] == ["/d1"]
    assert parse_meta_properties(disk.read("/d1/meta.properties")).directory_id is None


def test_a_directory_that_fails_later_is_told_to_the_controller_and_leaves_the_registration():
    network = a_cluster("/d1/.kafka_cleanshutdown")

    run_broker(network)

    network.run_until(lambda: registered(network).log_dirs == (directory_id(101),))
    assert [fact.fields["log_dir"] for fact in network.facts("log-directory-offline")] == ["/d1"]


def test_a_directory_that_fails_costs_the_word_that_the_broker_stopped_in_order():
    network = a_cluster()
    run_broker(network)
    network.shut_down(101)
    network.hosts[101].disk.broken = ("/d1",)

    network.start(101)
    asked = network.hosts[101].running.broker._lifecycle._registration()

    assert isinstance(asked, BrokerRegistrationRequest)
    assert asked.previous_broker_epoch == -1
    # That word is good until the logs are opened.
    network.run_until(lambda: network.hosts[101].running.broker.state is BrokerState.RUNNING)
    assert ".kafka_cleanshutdown" not in network.hosts[101].disk.list(LOG_DIR)


def test_a_directory_that_fails_while_the_broker_stops_does_not_keep_it_from_stopping():
    network = a_cluster()
    run_broker(network)
    network.hosts[101].disk.broken = ("/d1",)

    network.shut_down(101)

    assert network.hosts[101].stop.exit_code == 0
    assert ".kafka_cleanshutdown" in network.hosts[101].disk.list(LOG_DIR)
    assert [fact.fields["log_dir"] for fact in network.facts("log-directory-offline")] == ["/d1"]


@pytest.mark.parametrize("broken", [f"{LOG_DIR}/meta.properties", f"{LOG_DIR}/.kafka_cleanshutdown"])
def test_without_the_directory_of_the_metadata_log_a_node_does_not_start(broken):
    network = a_cluster(broken)

    with pytest.raises(StartupError, match="Input/output error"):
        network.start(101)


def test_a_broker_without_any_directory_for_partitions_does_not_start():
    network = a_cluster("/d1")
    host = network.hosts[101]
    host.config = replace(host.config, log_dirs=("/d1",))

    reason = r"none of the specified log dirs from /d1 can be created or validated: /d1/meta.properties: Input/output"
    with pytest.raises(StartupError, match=reason):
        network.start(101)


def test_a_controller_goes_on_without_a_directory_that_it_does_not_need():
    network = NodeNetwork()
    disk = BrokenDirectories()
    host = network.add(1, roles={CONTROLLER}, quorum_voters={1: controller_endpoint(1)}, disk=disk)
    host.config = replace(host.config, log_dirs=LOG_DIRS)
    disk.make_directory("/d1")
    disk.broken = ("/d1",)

    network.start(1)
    network.run_until(lambda: network.active is not None)

    assert len(network.facts("log-directory-offline")) == 1


def test_two_directories_with_one_id_are_refused():
    network = a_cluster(second_id=directory_id(101))

    with pytest.raises(StartupError, match=r"Duplicate directory ID .* found. It was the ID of /d0, but also of /d1"):
        network.start(101)


def test_a_reserved_id_is_refused():
    network = a_cluster(second_id=bytes(15) + b"\x07")

    with pytest.raises(StartupError, match=r"Invalid reserved directory ID .* found in /d1"):
        network.start(101)
