"""Brokers with more than one log directory: where replicas lie, how they move, what a directory takes with it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from log_dir_disk import LogDirDisk
from node_network import directory_id
from replica_cluster import ReplicaCluster

from falkirk.metadata.image.configs import BROKER, GROUP, TOPIC
from falkirk.node.broker.replication import future_replicas, replica_changes
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AlterReplicaLogDirsRequest,
    DescribeLogDirsRequest,
    IncrementalAlterConfigsRequest,
)
from falkirk.protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDir, AlterReplicaLogDirTopic
from falkirk.protocol.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.slices import exhaust
from falkirk.storage.log import log_manager

KEY = TopicPartition("t", 0)
# As much of server.properties as changes of a broker's configs are checked with.
STATIC = {
    "process.roles": "broker",
    "node.id": "101",
    "listeners": "PLAINTEXT://node101:9092",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@node1:9093",
    "log.dirs": "/d0,/d1,/d2",
}


def a_cluster(brokers: int = 1, **how: object) -> ReplicaCluster:
    cluster = ReplicaCluster(brokers=0, **how)
    for broker in range(101, 101 + brokers):
        cluster.add_brokers({broker: None}, further_log_dirs=("/d1", "/d2"), disk=LogDirDisk())
    return cluster


def directory(cluster: ReplicaCluster, broker: int, index: int = 0) -> bytes:
    """Return where the controller has a broker's replica."""
    state = cluster.state("t", index)
    return state.directories[state.replicas.index(broker)]


def fail(cluster: ReplicaCluster, broker: int, log_dir: str) -> None:
    disk = cluster.network.hosts[broker].disk
    assert isinstance(disk, LogDirDisk)
    disk.failed.add(log_dir)


def test_replicas_are_spread_and_the_controller_learns_where_they_lie():
    cluster = a_cluster()
    cluster.create("t", partitions=6, factor=1)

    dirs = [cluster.log(101, "t", index).directory.rpartition("/")[0] for index in range(6)]

    assert sorted(dirs) == ["/d0", "/d0", "/d1", "/d1", "/d2", "/d2"]
    ids = {"/d0": directory_id(101), "/d1": directory_id(101, 1), "/d2": directory_id(101, 2)}
    cluster.run_until(lambda: [directory(cluster, 101, index) for index in range(6)] == [ids[path] for path in dirs])


def test_a_replica_moves_to_another_directory_while_it_is_written():
    cluster = a_cluster(2)
    cluster.create("t", replicas={0: [101, 102]})
    for number in range(10):
        cluster.produce("t", b"%d" % number)
    source = cluster.log(101, "t").directory.rpartition("/")[0]
    target = "/d2" if source != "/d2" else "/d1"

    assert exhaust(cluster.replicas(101).alter_replica_log_dirs({KEY: target})) == {KEY: ErrorCode.NONE}
    for number in range(10, 20):
        assert cluster.produce("t", b"%d" % number) == 0

    cluster.run_until(lambda: cluster.log(101, "t").directory == f"{target}/t-0")
    assert cluster.values(101, "t") == [b"%d" % number for number in range(20)]
    assert cluster.log(101, "t").high_watermark == 20
    cluster.run_until(lambda: directory(cluster, 101) == directory_id(101, int(target[-1])))
    assert cluster.produce("t", b"after") == 0
    cluster.network.restart(101)
    cluster.run_until(lambda: cluster.is_running(101))
    cluster.wait_for_isr("t", 101, 102)
    assert cluster.log(101, "t").directory == f"{target}/t-0"


def test_a_leader_that_moves_keeps_the_epochs_in_which_nothing_was_written():
    cluster = a_cluster(2)
    cluster.create("t", replicas={0: [101, 102]})
    cluster.produce("t", b"0")
    cluster.network.restart(101)
    cluster.run_until(lambda: cluster.state("t").leader == 102)
    cluster.wait_for_isr("t", 101, 102)
    before = cluster.log(102, "t").leader_epochs
    assert [(entry.epoch, entry.start_offset) for entry in before.entries] == [(0, 0), (1, 1)]

    target = "/d1" if cluster.log(102, "t").directory != "/d1/t-0" else "/d2"
    assert exhaust(cluster.replicas(102).alter_replica_log_dirs({KEY: target})) == {KEY: ErrorCode.NONE}
    cluster.run_until(lambda: cluster.log(102, "t").directory == f"{target}/t-0")

    assert cluster.log(102, "t").leader_epochs == before


def with_eighteen_partitions() -> ReplicaCluster:
    cluster = a_cluster()
    cluster.create("t", partitions=18, factor=1)
    for index in range(18):
        assert cluster.produce("t", b"kept", index=index) == 0
    return cluster


@pytest.mark.source
def test_many_replicas_begin_to_move_one_after_the_other_and_all_arrive(monkeypatch):
    monkeypatch.setattr(future_replicas, "MOVES_AT_ONCE", 2)
    cluster = with_eighteen_partitions()
    replicas, node = cluster.replicas(101), cluster.network.hosts[101].running
    moved = tuple(index for index in range(18) if not cluster.log(101, "t", index).directory.startswith("/d2/"))
    begun, step = [0], node.step

    def observed(events, now_ms):
        effects = step(events, now_ms)
        begun.append(len(replicas._futures.moving()))
        return effects

    monkeypatch.setattr(node, "step", observed)
    request = AlterReplicaLogDirsRequest([AlterReplicaLogDir("/d2", [AlterReplicaLogDirTopic("t", moved)])])
    answer = cluster.client(101).ask(request, 2)
    assert {each.error_code for topic in answer.results for each in topic.partitions} == {0}
    cluster.run_until(lambda: all(cluster.log(101, "t", index).directory.startswith("/d2/") for index in range(18)))
    # The step with the request begins with its first slice, and does another one.
    assert max(after - before for before, after in pairwise(begun)) <= 2
    assert [cluster.values(101, "t", index) for index in range(18)] == [[b"kept"]] * 18


def test_a_directory_that_fails_ends_moves_of_very_many_replicas_and_no_others(monkeypatch):
    monkeypatch.setattr(future_replicas, "MOVES_AT_ONCE", 2)
    cluster = with_eighteen_partitions()
    there = [index for index in range(18) if cluster.log(101, "t", index).directory.startswith("/d0/")]
    wanted = {TopicPartition("t", index): "/d1" if at < 3 else "/d2" for at, index in enumerate(there)}
    assert set(exhaust(cluster.replicas(101).alter_replica_log_dirs(wanted)).values()) == {ErrorCode.NONE}

    fail(cluster, 101, "/d1")

    arrived = there[3:]
    cluster.run_until(lambda: all(cluster.log(101, "t", index).directory.startswith("/d2/") for index in arrived))
    assert cluster.log_dirs(101) == {"/d0": True, "/d1": False, "/d2": True}
    assert all(cluster.log(101, "t", index).directory.startswith("/d0/") for index in there[:3])


def test_a_follower_moves_too_and_is_truncated_on_its_way():
    cluster = a_cluster(2)
    cluster.create("t", replicas={0: [101, 102]})
    for number in range(5):
        cluster.produce("t", b"%d" % number)

    source = cluster.log(102, "t").directory.rpartition("/")[0]
    target = "/d2" if source != "/d2" else "/d1"
    assert exhaust(cluster.replicas(102).alter_replica_log_dirs({KEY: target})) == {KEY: ErrorCode.NONE}
    cluster.run_until(lambda: cluster.log(102, "t").directory == f"{target}/t-0")

    assert cluster.produce("t", b"5") == 0
    assert cluster.values(102, "t") == [b"%d" % number for number in range(6)]


def test_where_a_replica_may_be_moved_to_is_checked():
    cluster = a_cluster()
    cluster.create("t", factor=1)
    begin = cluster.replicas(101).alter_replica_log_dirs

    def alter(wanted):
        return exhaust(begin(wanted))

    absent = TopicPartition("absent", 0)
    long = TopicPartition("x" * 220, 0)

    assert alter({KEY: "/nowhere"}) == {KEY: ErrorCode.LOG_DIR_NOT_FOUND}
    assert alter({absent: "/d1"}) == {absent: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert alter({long: "/d1"}) == {long: ErrorCode.INVALID_TOPIC_EXCEPTION}


def test_a_replica_of_another_broker_is_not_available():
    cluster = a_cluster(2)
    elsewhere = TopicPartition("elsewhere", 0)
    cluster.create("elsewhere", replicas={0: [102]})
    assert exhaust(cluster.replicas(101).alter_replica_log_dirs({elsewhere: "/d1"})) == {
        elsewhere: ErrorCode.REPLICA_NOT_AVAILABLE
    }


def test_a_replica_that_is_not_here_yet_is_made_in_the_directory_that_was_asked_for():
    cluster = a_cluster()
    absent = TopicPartition("later", 0)

    exhaust(cluster.replicas(101).alter_replica_log_dirs({absent: "/d2"}))
    cluster.create("later", factor=1)

    assert cluster.log(101, "later").directory == "/d2/later-0"


def test_a_directory_that_fails_takes_its_replicas_offline_and_no_others():
    cluster = a_cluster(2)
    cluster.create("t", replicas={index: [101, 102] for index in range(6)})
    for index in range(6):
        assert cluster.produce("t", b"before", index=index) == 0
    gone = [index for index in range(6) if cluster.log(101, "t", index).directory.startswith("/d1/")]
    assert len(gone) == 2

    fail(cluster, 101, "/d1")
    for index in range(6):
        cluster.produce("t", b"after", index=index, timeout_ms=500)

    for index in range(6):
        cluster.wait_for_leader("t", 102 if index in gone else 101, index=index)
    for index in gone:
        assert cluster.replicas(101).log(TopicPartition("t", index)) is ErrorCode.KAFKA_STORAGE_ERROR
        assert cluster.state("t", index).isr == (102,)
        assert cluster.produce("t", b"without it", index=index) == 0
    assert cluster.log_dirs(101) == {"/d0": True, "/d1": False, "/d2": True}
    assert "log-directory-offline" in cluster.facts(101)


@pytest.mark.source
def test_a_directory_with_many_replicas_goes_offline_at_once_some_replicas_in_a_step(monkeypatch):
    monkeypatch.setattr(replica_changes, "OFFLINE_AT_ONCE", 5)
    monkeypatch.setattr(log_manager, "CLOSED_AT_ONCE", 5)
    cluster = a_cluster()
    cluster.create("t", partitions=60, factor=1)
    keys = [TopicPartition("t", index) for index in range(60)]
    replicas, node = cluster.replicas(101), cluster.network.hosts[101].running
    gone = [key for key in keys if replicas.log(key).directory.startswith("/d1/")]
    left, step = [(len(keys), len(keys))], node.step

    def observed(events, now_ms):
        effects = step(events, now_ms)
        left.append((len(replicas.partitions.online), len(replicas.logs._current)))
        return effects

    monkeypatch.setattr(node, "step", observed)
    fail(cluster, 101, "/d1")
    cluster.produce("t", b"value", index=gone[0].partition)
    assert [key for key in keys if replicas.partition(key) is ErrorCode.KAFKA_STORAGE_ERROR] == gone
    assert {log.topic_partition for log in replicas.logs.logs()} == set(keys) - set(gone)
    cluster.run_until(lambda: left[-1] == (40, 40))

    assert list(replicas.partitions.offline) == gone
    for before, after in pairwise(left):
        # What fails a directory does a slice at once, and the step another one.
        assert all(one - other <= 10 for one, other in zip(before, after, strict=True))


def test_a_replica_of_a_failing_directory_is_offline_if_its_partition_changes_first(monkeypatch):
    monkeypatch.setattr(replica_changes, "OFFLINE_AT_ONCE", 1)
    cluster = a_cluster(2)
    cluster.create("t", replicas={index: [101, 102] for index in range(9)})
    replicas = cluster.replicas(101)
    gone = [key for key in replicas.partitions.online if replicas.log(key).directory.startswith("/d1/")]
    fail(cluster, 101, "/d1")
    replicas.disk_failed(replicas.log(gone[-1]), OSError("broken"))
    assert gone[-1] not in replicas.partitions.offline
    replicas._changes._get_or_create(replicas.partitions.online[gone[-1]].topic_id_partition)
    assert gone[-1] in replicas.partitions.offline
    cluster.run_until(lambda: not replicas.partitions.failing)
    assert set(replicas.partitions.offline) == set(gone)


def test_no_replica_is_made_anew_while_it_may_lie_in_a_directory_that_is_offline():
    cluster = a_cluster(2)
    cluster.create("t", replicas={index: [101, 102] for index in range(3)})
    for index in range(3):
        assert cluster.produce("t", b"kept", index=index) == 0
    (gone,) = [index for index in range(3) if cluster.log(101, "t", index).directory.startswith("/d1/")]
    cluster.run(1_000)
    cluster.network.kill(101)
    fail(cluster, 101, "/d1")

    cluster.start(101)

    assert cluster.replicas(101).log(TopicPartition("t", gone)) is ErrorCode.KAFKA_STORAGE_ERROR
    for index in set(range(3)) - {gone}:
        cluster.wait_for_isr("t", 101, 102, index=index)


@pytest.mark.parametrize("log_dirs", [("/d0",), ("/d1", "/d2", "/d0")])
def test_without_the_metadata_or_any_directory_a_broker_stops(log_dirs):
    cluster = a_cluster()
    cluster.create("t", partitions=6, factor=1)

    for log_dir in log_dirs:
        fail(cluster, 101, log_dir)
    for index in range(6):
        if cluster.network.hosts[101].node is not None:
            cluster.begin_produce("t", b"lost", index=index)
            cluster.run(100)

    cluster.run_until(lambda: cluster.network.hosts[101].stop is not None)
    assert cluster.network.hosts[101].stop.exit_code == 1


def test_strays_are_put_aside_at_the_start():
    cluster = ReplicaCluster(brokers=2)
    cluster.create("t", replicas={0: [101, 102]})
    cluster.kill(102)
    cluster.delete("t")

    cluster.start(102)

    names = cluster.network.hosts[102].disk.list("/d0")
    assert [name.rpartition("-")[2] for name in names if name.startswith("t-0")] == ["stray"]


def test_cordoned_directories_are_told_and_get_no_new_replicas():
    cluster = a_cluster(properties={"cordoned.log.dirs": "/d0,/d2"})
    active = cluster.network.active
    assert active is not None
    cluster.run_until(
        lambda: (
            set(active.running.image.cluster.brokers[101].cordoned_log_dirs or ())
            == {directory_id(101), directory_id(101, 2)}
        )
    )

    cluster.create("t", partitions=3, factor=1)

    assert {cluster.log(101, "t", index).directory.rpartition("/")[0] for index in range(3)} == {"/d1"}


def test_what_is_cordoned_while_the_broker_runs_gets_no_new_replicas_until_it_is_open_again():
    cluster = a_cluster(properties=STATIC)
    for cordoned, topic, places in (
        ("/d1,/d2", "t", {"/d0"}),
        ("", "u", {"/d1", "/d2"}),
    ):
        cordon(cluster, cordoned)
        cluster.create(topic, partitions=4, factor=1)
        assert {cluster.log(101, topic, index).directory.rpartition("/")[0] for index in range(4)} == places


def test_no_replica_is_moved_to_a_cordoned_directory():
    cluster = a_cluster(properties=STATIC)
    cluster.create("t", factor=1)
    source = cluster.log(101, "t").directory.rpartition("/")[0]
    closed, open_ = [path for path in ("/d0", "/d1", "/d2") if path != source]
    cordon(cluster, closed)
    begin = cluster.replicas(101).alter_replica_log_dirs

    def alter(wanted):
        return exhaust(begin(wanted))

    assert alter({KEY: closed}) == {KEY: ErrorCode.INVALID_REPLICA_ASSIGNMENT}
    assert alter({KEY: open_}) == {KEY: ErrorCode.NONE}
    cluster.run_until(lambda: cluster.log(101, "t").directory == f"{open_}/t-0")


def test_the_controller_learns_at_once_what_is_cordoned():
    cluster = a_cluster(properties=STATIC)
    active = cluster.network.active
    assert active is not None
    for cordoned, expected in (("/d1", 1), ("/d1,/d2", 2), ("", 0), ("*", 3)):
        cordon(cluster, cordoned)
        known_ms = cluster.network.now_ms
        cluster.run_until(
            lambda expected=expected: len(active.running.image.cluster.brokers[101].cordoned_log_dirs or ()) == expected
        )
        # Heartbeats are 500 ms apart.
        assert cluster.network.now_ms - known_ms < 100


def test_directories_are_described_with_their_space_and_whether_they_are_cordoned():
    cluster = a_cluster(properties=STATIC)
    cordon(cluster, "/d1")
    fail(cluster, 101, "/d2")

    results = cluster.client(101).ask(DescribeLogDirsRequest(None), 5).results

    total = 1 << 40
    assert [(each.log_dir, each.error_code, each.total_bytes, each.is_cordoned) for each in results] == [
        ("/d0", 0, total, False),
        ("/d1", 0, total, True),
        ("/d2", ErrorCode.KAFKA_STORAGE_ERROR, -1, False),
    ]
    assert 0 < results[0].usable_bytes < total


@pytest.mark.source
def test_changed_configs_reach_the_logs_that_they_concern_some_in_a_step(monkeypatch):
    monkeypatch.setattr(replica_changes, "CONFIGURED_AT_ONCE", 5)
    cluster = a_cluster(properties=STATIC)
    cluster.create("many", partitions=30, factor=1)
    cluster.create("few", partitions=2, factor=1)
    node, configs, configured = cluster.network.hosts[101].running, cluster.replicas(101)._changes.configs, [0]
    step, of = node.step, configs.of

    def observed(events, now_ms):
        configured.append(0)
        return step(events, now_ms)

    def counted(image, topic):
        configured[-1] += 1
        return of(image, topic)

    monkeypatch.setattr(node, "step", observed)
    monkeypatch.setattr(configs, "of", counted)
    set_config(cluster, TOPIC, "few", "retention.ms", "1000")
    cluster.run_until(lambda: retentions(cluster, "few") == {1_000})
    assert sum(configured) == 2
    set_config(cluster, BROKER, "101", "num.io.threads", "9")
    set_config(cluster, GROUP, "g", "consumer.session.timeout.ms", "50000")
    cluster.run(1_000)
    del configured[:-1]
    # The second one comes while the first is under way.
    set_config(cluster, BROKER, "101", "log.retention.ms", "2000")
    set_config(cluster, TOPIC, "few", "retention.ms", "3000")
    cluster.run_until(lambda: (retentions(cluster, "few"), retentions(cluster, "many")) == ({3_000}, {2_000}))
    assert 5 <= max(configured) <= 10


def retentions(cluster: ReplicaCluster, topic: str) -> set[int]:
    logs = cluster.replicas(101).logs.logs()
    return {log.config.retention_ms for log in logs if log.topic_partition.topic == topic}


def cordon(cluster: ReplicaCluster, log_dirs: str) -> None:
    """Set cordoned.log.dirs of broker 101, and wait until it knows."""
    set_config(cluster, BROKER, "101", "cordoned.log.dirs", log_dirs)
    cluster.run_until(lambda: cluster.replicas(101).image.configs.of(BROKER, "101")["cordoned.log.dirs"] == log_dirs)


def set_config(cluster: ReplicaCluster, kind: int, name: str, config: str, value: str) -> None:
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, [AlterableConfig(config, 0, value)])])
    (answer,) = cluster.client(101).ask(request, 1).responses
    assert answer.error_code == 0, answer
