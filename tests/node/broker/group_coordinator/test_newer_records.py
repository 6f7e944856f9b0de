"""What newer releases left in `__consumer_offsets` is told of once, and stays where it is (KIP-915)."""

from group_cluster import GroupCluster

from falkirk.node.handlers.produce import ADMIN_CLIENT_ID
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.connection import Connection, Role
from falkirk.protocol.coordinator_record import decode_value, encode_key, encode_value
from falkirk.protocol.messages import (
    GROUP_COORDINATOR_VALUES,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ProduceRequest,
    UpdateFeaturesRequest,
)
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import read_batches
from falkirk.storage.log.read import FetchIsolation
from falkirk.versions.release import CONSUMER_OFFSETS

GROUP = "g"
TAGS = ((77, b"new"),)


def test_unknown_types_are_told_once_and_unknown_tags_are_written_again():
    cluster = GroupCluster(brokers=1, release="4.3")
    update = UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("group.version", 1, upgrade_type=1)])
    assert cluster.client(101).ask(update, 1).error_code == 0
    cluster.create("t", partitions=1, factor=1)
    cluster.commit(GROUP, {("t", 0): 7})
    key = encode_key(ConsumerGroupMetadataKey(group_id=GROUP))
    value = ConsumerGroupMetadataValue(epoch=5, unknown_tagged_fields=TAGS)
    unknown = (b"\x00\x63of a newer release", b"\x00\x00")
    put(cluster, unknown, unknown, (key, encode_value(value, 0, layout=1)))
    cluster.network.restart(101)
    cluster.run_until(lambda: cluster.is_running(101))
    assert cluster.fetch_offsets(GROUP) == {("t", 0): 7}

    facts = [fact for host in cluster.network.hosts.values() for fact in host.facts]
    (told,) = [fact for fact in facts if fact.event == "unknown-records-skipped"]
    assert (told.level, told.fields["record_type"], told.fields["records"]) == ("warning", 0x63, 2)

    heartbeat = ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id="m" * 22,
        rebalance_timeout_ms=5_000,
        subscribed_topic_names=("t",),
        topic_partitions=[],
    )
    assert cluster.ask(GROUP, heartbeat, 1).error_code == 0
    last, _ = decode_value(GROUP_COORDINATOR_VALUES, 3, values(cluster)[key], layout=1)
    assert isinstance(last, ConsumerGroupMetadataValue)
    assert (last.epoch, last.unknown_tagged_fields) == (6, TAGS)


def put(cluster, *records):
    """Write records into the group's partition, as an administrator may."""
    client = cluster.client(101)
    client.connection = Connection(role=Role.CLIENT, client_id=ADMIN_CLIENT_ID)
    now_ms = cluster.network.now_ms
    batch = build_batch([Record(at, now_ms, *each) for at, each in enumerate(records)], base_offset=0)
    partition = PartitionProduceData(cluster.partition_of(GROUP), batch)
    data = TopicProduceData(name=CONSUMER_OFFSETS, partition_data=[partition])
    answer = client.ask(ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=[data]), 9)
    assert answer.responses[0].partition_responses[0].error_code == 0


def values(cluster):
    """Return the newest value of each key."""
    log = cluster.log(101, CONSUMER_OFFSETS, cluster.partition_of(GROUP))
    data = log.read(log.log_start_offset, 2**30, FetchIsolation.LOG_END, is_one_batch_needed=True).records
    return {record.key: record.value for batch in read_batches(data) for record in batch.records()}
