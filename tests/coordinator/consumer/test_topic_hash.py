"""Hashes of topics, judged by those that real Kafka has written."""

import pytest
import xxhash
from consumer_world import FakeTopic, FakeTopics
from coordinator_logs import real_partitions

from falkirk.coordinator.consumer.topic_hash import TopicHashes, topic_hash
from falkirk.coordinator.records.log_entry import LoggedRecord
from falkirk.protocol.coordinator_record import decode_key, decode_value, record_type
from falkirk.protocol.messages import (
    GROUP_COORDINATOR_KEYS,
    GROUP_COORDINATOR_VALUES,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
)

# The ids that topics had in the clusters of the logs, which had one broker, in rack-1.
REAL_IDS = {
    "4.3.1": ("c7f1996bcb394aad869098cc8a5505b4", "bbc81479f8ae4334b6e6c280862c472c"),
    "4.4.0": ("aaa4cf3d4563499e97df997d922af14a", "c5ac260376eb40a98adf5605628cef77"),
}
TOPIC_ID = bytes.fromhex("00112233445566778899aabbccddeeff")
# By the library that Kafka takes XXH3 from (hash4j 0.22), of the first bytes of 3, 10, 17, 24 ... (modulo 256).
HASHES = {
    0: 3244421341483603138,
    1: 1433843135270481901,
    3: -6266602912829716452,
    4: 7895465118229274323,
    8: 6941064856527638883,
    9: -72226354546400344,
    16: -5131753158909839995,
    17: 8163341949877205007,
    32: 1873302701886544469,
    33: 4486878507168070088,
    64: 2917965298538373825,
    100: -5362810412169982817,
    128: 7440608504995537343,
    129: -4150982730466284604,
    160: -2950444285678012285,
    200: 8389308914288017243,
    240: 7229805477010515663,
    241: -8364630114420064745,
    256: 4339360625268998362,
    300: -172648679454408153,
    512: -756038794506822371,
    1023: -3284946428344021948,
    1024: -7241394453710343503,
    1025: -9192937061388044938,
    1088: 3424848841118183642,
    2048: -6060151295482384687,
    3000: -3994278647677818051,
    5000: 8762507191635236893,
}


@pytest.mark.parametrize("release", REAL_IDS)
def test_the_hash_of_a_group_is_the_one_that_kafka_wrote(release: str):
    ids = dict(zip(("codec-gzip-1", "codec-none-1"), map(bytes.fromhex, REAL_IDS[release]), strict=True))
    topics = FakeTopics({name: FakeTopic(id_, (("rack-1",),) * 2) for name, id_ in ids.items()})

    assert TopicHashes().group_hash([*ids, "none"], topics) in _written(release, "kg-range-1")


def test_racks_names_and_partitions_count_as_in_kafka():
    # Made by Utils.computeTopicHash of 4.3.1.
    racks = (("z", "a", "a"), (), ("b",))

    assert topic_hash(TOPIC_ID, "tópic", racks) == -6056894578981845024
    assert topic_hash(TOPIC_ID, "foo", racks) == -1370586911131168604


def test_a_group_without_topics_has_no_hash():
    assert TopicHashes().group_hash(["none"], FakeTopics()) == 0


def test_a_topic_that_has_changed_is_hashed_anew():
    hashes = TopicHashes()
    topics = FakeTopics().with_("t", 1)
    before = hashes.group_hash(["t"], topics)
    topics = topics.with_("t", 2)

    assert hashes.group_hash(["t"], topics) == before
    hashes.forget(["t"])
    assert hashes.group_hash(["t"], topics) != before


@pytest.mark.parametrize("length", HASHES)
def test_inputs_of_all_lengths_are_hashed_as_kafka_does(length: int):
    data = bytes((7 * at + 3) % 256 for at in range(length))

    assert xxhash.xxh3_64_intdigest(data) == HASHES[length] % (1 << 64)


def _written(release: str, group_id: str) -> set[int]:
    hashes = set()
    for entries in real_partitions(release, "__consumer_offsets").values():
        for entry in entries:
            if not isinstance(entry, LoggedRecord) or entry.key is None or record_type(entry.key) != 3:
                continue
            key = decode_key(GROUP_COORDINATOR_KEYS, entry.key)
            assert isinstance(key, ConsumerGroupMetadataKey)
            if key.group_id == group_id and entry.value is not None:
                value, _ = decode_value(GROUP_COORDINATOR_VALUES, 3, entry.value)
                assert isinstance(value, ConsumerGroupMetadataValue)
                hashes.add(value.metadata_hash)
    return hashes
