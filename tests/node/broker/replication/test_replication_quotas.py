"""Throttles: the rate, who is throttled, and clusters whose replication is slowed down."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from log_dir_disk import LogDirDisk
from replica_cluster import ReplicaCluster

from falkirk.metadata.image.configs import BROKER, TOPIC
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, Provenance
from falkirk.node.broker.replication.replication_quotas import ReplicationQuotas, SampledRate
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ConfigRecord, IncrementalAlterConfigsRequest
from falkirk.protocol.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.slices import exhaust
from falkirk.versions.release import Release

# More than Python reads as a number.
DIGITS = "9" * 5_000
KEY = TopicPartition("t", 0)
RECORD_BYTES = 20_000
RECORDS = 20
RATE = 40_000
# Bytes at times, and what SimpleRate of 4.3.1 (and 3.7.2) measures: (time, bytes) or (time, None, rate).
KAFKA_RATES: tuple[tuple[Any, ...], ...] = (
    (1285, 78045),
    (1853, 96650),
    (2153, 13713),
    (2748, 89663),
    (2955, 38280),
    (3738, 77052),
    (4077, None, 140903.65329512896),
    (4388, 124),
    (5279, 34536),
    (5885, None, 93057.17391304349),
    (6010, 48881),
    (6743, 74396),
    (7419, 20653),
    (8313, 70171),
    (9021, 11566),
    (9295, 50526),
    (10167, 49306),
    (10496, None, 81811.09542937792),
    (11348, None, 74884.4281029514),
    (20462, 64397),
    (20793, 12599),
    (21480, 50787),
    (21988, 13602),
    (22694, None, 63344.53405017921),
    (22931, 73327),
    (36290, None, 0.0),
    (36338, 96567),
    (37233, 85388),
    (48567, None, 0.0),
    (48608, 25858),
    (49093, 53208),
    (49498, 50132),
    (49745, 378),
    (49814, 16768),
    (49919, None, 108242.60355029585),
    (50320, 57445),
    (50781, 72591),
    (51573, 49288),
    (52383, 1545),
    (52444, None, 84398.50399793655),
    (52573, None, 81680.72890664004),
    (52660, 18276),
    (52744, None, 82712.23366052192),
    (53081, None, 76537.21754541426),
    (53890, 81660),
    (54675, None, 69932.7111984283),
    (55294, 97660),
    (55797, 18036),
    (56655, None, 67117.33432245303),
    (56883, 30637),
    (57765, 95498),
    (58349, None, 68388.87753015744),
    (58494, None, 67389.94661025486),
    (59201, 72243),
    (68559, 90969),
    (69386, 94419),
    (69559, None, 24872.65881444294),
    (70135, 71978),
    (70978, 28373),
    (71727, 63274),
)
# What one fetch may bring beyond the limit: some records, and what of a window is not over yet.
FETCHED_BYTES = 100_000


# --- The rate


def test_the_rate_is_that_of_kafkas_own_class():
    rate = SampledRate(windows=11, window_ms=1000)
    compared = 0
    for now_ms, *rest in KAFKA_RATES:
        if len(rest) == 1:
            rate.record(rest[0], now_ms)
        else:
            assert rate.measure(now_ms) == pytest.approx(rest[1], rel=1e-12), now_ms
            compared += 1
    assert compared > 15


def test_a_rate_without_bytes_is_0():
    assert SampledRate(windows=11, window_ms=1000).measure(5) == 0.0


# --- Limits and replicas


def quotas(*configs: tuple[int, str, str, str]) -> tuple[ReplicationQuotas, Any]:
    """Return the quotas of broker 101 under configs: resource type and name, config, value."""
    delta = MetadataDelta(EMPTY)
    for config in configs:
        delta.replay(ConfigRecord(*config))
    context: Any = SimpleNamespace(
        image=delta.apply(Provenance(1, 1, 0)),
        node_id=101,
        now_ms=0,
        config=SimpleNamespace(properties={}, release=Release.parse("4.3")),
    )
    return ReplicationQuotas(context), context


def test_a_brokers_own_limit_counts_before_that_of_all_brokers():
    rate = "leader.replication.throttled.rate"
    assert quotas()[0].leader.limit is None
    assert quotas((BROKER, "", rate, "7"))[0].leader.limit == 7
    assert quotas((BROKER, "", rate, "7"), (BROKER, "101", rate, "8"))[0].leader.limit == 8
    assert quotas((BROKER, "102", rate, "9"))[0].leader.limit is None
    assert quotas((BROKER, "101", rate, "many"), (BROKER, "", rate, "7"))[0].leader.limit == 7
    assert quotas((BROKER, "101", rate, DIGITS), (BROKER, "", rate, "7"))[0].leader.limit == 7


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", []),
        ("*", [0, 1, 2]),
        ("0:101,1:102, 2:101", [0, 2]),
        ("1:1010", []),
        ("0", []),
        pytest.param(f"0:{DIGITS},{DIGITS}:101,1:101", [1], id="no numbers"),
    ],
)
def test_the_throttled_replicas_of_a_broker(value: str, expected: list[int]):
    found, _ = quotas((TOPIC, "t", "follower.replication.throttled.replicas", value))
    assert [index for index in range(3) if found.follower.is_throttled(TopicPartition("t", index))] == expected
    assert not found.leader.is_throttled(KEY)
    assert found.alter_log_dirs.is_throttled(KEY)


def test_a_quota_is_exceeded_above_its_limit_and_not_at_it():
    found, context = quotas((BROKER, "101", "follower.replication.throttled.rate", "1000"))
    found.follower.record(1000)
    assert not found.follower.is_exceeded
    found.follower.record(1)
    assert found.follower.is_exceeded
    assert found.follower.byte_rate == 1001
    found.leader.record(10**9)
    assert not found.leader.is_exceeded
    context.now_ms = 2_000
    assert not found.follower.is_exceeded


# --- Clusters


def alter(cluster: ReplicaCluster, kind: int, name: str, **values: str | None) -> None:
    """Change configs; underscores in names stand for dots, None deletes."""
    changes = [
        AlterableConfig(key.replace("_", "."), 1 if value is None else 0, value) for key, value in values.items()
    ]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, changes)])
    broker = int(name) if kind == BROKER else cluster.up[0]
    (answer,) = cluster.client(broker).ask(request, 1).responses
    assert answer.error_code == 0, answer


def a_cluster(**how: Any) -> ReplicaCluster:
    properties = {"process.roles": "broker", "node.id": "101", "listeners": "PLAINTEXT://node:9092"}
    properties |= {"controller.listener.names": "CONTROLLER", "controller.quorum.voters": "1@node1:9093"}
    return ReplicaCluster(brokers=0, properties=properties | {"replica.fetch.max.bytes": "50000"}, **how)


def filled(brokers: int) -> ReplicaCluster:
    """Return a cluster with a topic on broker 101 that has 400 kB."""
    cluster = a_cluster()
    for broker in range(101, 101 + brokers):
        cluster.properties["node.id"] = str(broker)
        cluster.add_brokers({broker: None}, further_log_dirs=("/d1",), disk=LogDirDisk())
    cluster.create("t", replicas={0: [101]})
    for _ in range(RECORDS):
        assert cluster.produce("t", bytes(RECORD_BYTES)) == 0
    return cluster


def copied(cluster: ReplicaCluster, broker: int) -> int:
    log = cluster.replicas(broker).log(KEY)
    return 0 if isinstance(log, ErrorCode) else log.size


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_throttled_replica_comes_at_the_rate_of_its_throttle(side: str):
    cluster = filled(2)
    throttled = "101" if side == "leader" else "102"
    alter(cluster, BROKER, throttled, **{f"{side}_replication_throttled_rate": str(RATE)})
    alter(cluster, TOPIC, "t", **{f"{side}_replication_throttled_replicas": f"0:{throttled}"})
    began_ms = cluster.network.now_ms
    cluster.reassign("t", [101, 102])

    for seconds in range(1, 6):
        cluster.run(1_000)
        assert copied(cluster, 102) <= RATE * seconds + FETCHED_BYTES
    assert 0 < copied(cluster, 102) < copied(cluster, 101)
    cluster.wait_for_isr("t", 101, 102)

    assert cluster.network.now_ms - began_ms >= (RECORDS * RECORD_BYTES - FETCHED_BYTES) / RATE * 1000
    # In sync it is not held up any more, whatever the rate.
    for _ in range(10):
        assert cluster.produce("t", bytes(RECORD_BYTES)) == 0


def test_a_throttle_that_is_removed_holds_nothing_up_any_more():
    cluster = filled(2)
    alter(cluster, BROKER, "102", follower_replication_throttled_rate="1")
    alter(cluster, TOPIC, "t", follower_replication_throttled_replicas="*")
    cluster.reassign("t", [101, 102])
    cluster.run(8_000)
    before = copied(cluster, 102)
    assert before <= FETCHED_BYTES

    alter(cluster, BROKER, "102", follower_replication_throttled_rate=None)
    cluster.wait_for_isr("t", 101, 102)
    assert copied(cluster, 102) == copied(cluster, 101)


def test_other_replicas_are_not_held_up_by_one_that_is_throttled():
    cluster = filled(2)
    cluster.create("u", replicas={0: [101]})
    for _ in range(RECORDS):
        assert cluster.produce("u", bytes(RECORD_BYTES)) == 0
    alter(cluster, BROKER, "102", follower_replication_throttled_rate="1")
    alter(cluster, TOPIC, "t", follower_replication_throttled_replicas="0:102")
    cluster.reassign("t", [101, 102])
    cluster.run(3_000)

    cluster.reassign("u", [101, 102])
    cluster.wait_for_isr("u", 101, 102)
    assert copied(cluster, 102) <= FETCHED_BYTES


def test_a_move_to_another_directory_comes_at_the_rate_of_its_throttle():
    cluster = filled(1)
    for _ in range(5 * RECORDS):
        assert cluster.produce("t", bytes(RECORD_BYTES)) == 0
    alter(cluster, BROKER, "101", replica_alter_log_dirs_io_max_bytes_per_second="200000")
    source = cluster.log(101, "t").directory.rpartition("/")[0]
    target = "/d1" if source == "/d0" else "/d0"
    began_ms = cluster.network.now_ms
    assert exhaust(cluster.replicas(101).alter_replica_log_dirs({KEY: target})) == {KEY: ErrorCode.NONE}
    cluster.run(1_000)
    assert cluster.log(101, "t").directory == f"{source}/t-0"

    cluster.run_until(lambda: cluster.log(101, "t").directory == f"{target}/t-0", within_ms=60_000)
    # The first megabyte goes at once, as one fetch of Kafka's mover does; the rest waits until the rate allows it.
    assert cluster.network.now_ms - began_ms >= 4_000
